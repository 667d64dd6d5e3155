import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../../../src/config/index.js';
import { freePort } from '../../../../harness/free-port.js';
import { until } from '../../../../harness/until.js';
import type { Answer } from './answers.js';

const program = join(loadConfig({ cwd: '/' }).cacheFolder, 'moto', 'bin', 'moto_server');

/** Why EC2 cannot be emulated here; undefined when it can. */
export function motoIsMissing(): string | undefined {
  return existsSync(program) ? undefined : 'moto is not installed: npm run setup:extras';
}

export interface Moto {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Moto, which emulates EC2's API in memory, with all the checks that it has. It makes no real machines. */
export async function startMoto(): Promise<Moto> {
  const port = await freePort();
  const settings = {
    // Its hundreds of images make each call that lists images or snapshots expensive.
    MOTO_AMIS_PATH: join(import.meta.dirname, 'amis.json'),
    MOTO_ENABLE_AMI_VALIDATION: 'true',
    MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION: 'true',
    MOTO_ENABLE_KEYPAIR_VALIDATION: 'true',
  };
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], {
    env: { PATH: '/usr/bin:/bin', ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  const close = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await until('moto to answer', async () => {
      if (child.exitCode !== null) throw new Error(`moto ended with ${child.exitCode}: ${said}`);
      return (await fetch(`${endpoint}/moto-api/data.json`).catch(() => undefined))?.ok;
    });
    // It loads what it knows of types at the first call, which takes seconds.
    await ask(endpoint, { Action: 'DescribeInstanceTypes', 'InstanceType.1': 't3.micro' });
  } catch (error) {
    await close();
    throw error;
  }
  return { endpoint, close };
}

/**
 * Calls an action of EC2's API. Moto reads the region and the service from the signature, and does not check
 * it.
 */
export async function ask(endpoint: string, parameters: Readonly<Record<string, string>>): Promise<Answer> {
  const response = await fetch(endpoint, {
    method: 'POST',
    body: new URLSearchParams({ Version: '2016-11-15', ...parameters }),
    headers: {
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIATESTTESTTESTTEST/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0',
    },
  });
  return { status: response.status, body: await response.text() };
}
