import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { heddleSearchAttributes } from '../src/server/setup.js';
import { startServer } from '../src/server/start.js';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * host:port of the one Temporal server of this run; Heddle's search attributes are registered in its
     * namespace `default`.
     */
    temporalAddress: string;
    /** A Temporal CLI, for tests that start a server of their own. */
    temporalBinary: string;
    /** The built workflows, for `workflowBundle: { codePath }`. */
    workflowBundlePath: string;
    /** The built product, for tests that start its programs. */
    distPath: string;
  }
}

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

/**
 * Builds once, starts one Temporal server for the run, and stops it at the end. Only the project `temporal`
 * calls this.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await buildProduct();
  const binary = (await runTool('get-temporal.mjs')).trim();
  const dataFolder = await mkdtemp(join(tmpdir(), 'heddle-test-server-'));
  const remove = () => rmSync(dataFolder, { recursive: true, force: true, maxRetries: 5 });
  // Interrupted, vitest exits without a teardown; the server itself ends with this process.
  process.once('exit', remove);
  const options = {
    binary,
    dataFolder,
    port: 0,
    ui: false,
    searchAttributes: heddleSearchAttributes,
    survivesPowerFailure: false,
    say,
  } as const;
  const server = await startServer(options);

  project.provide('temporalAddress', server.address);
  project.provide('temporalBinary', binary);
  project.provide('workflowBundlePath', join(dist, 'workflow-bundle.js'));
  project.provide('distPath', dist);
  return async () => {
    await server.stop();
    remove();
    process.off('exit', remove);
  };
}

/**
 * Type errors are another check's business: the built product can still be run, and often must be to see what
 * is wrong.
 */
async function buildProduct(): Promise<void> {
  await runTool('build.mjs').catch((cause: unknown) => {
    if (!existsSync(join(dist, 'server'))) throw cause;
  });
}

/** Runs a program of tools/; what it has to say goes to the terminal. Gives its stdout. */
async function runTool(name: string): Promise<string> {
  const child = spawn(process.execPath, [join(root, 'tools', name)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`tools/${name} failed, its reason stands above`);
  return output;
}

function say(line: string): void {
  process.stderr.write(`heddle: ${line}\n`);
}
