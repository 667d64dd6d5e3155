import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig, type TemporalConfig } from '../../src/config/index.js';
import { newFolder } from '../harness/folder.js';

// A CA of our own, and before the real server an end of TLS that asks for a client's certificate: the
// embedded server has none.
let folder: string;
let server: Server;
let address: string;

beforeAll(async () => {
  folder = newFolder();
  makeAuthority('ca');
  makeAuthority('other');
  makeCertificate('server', 'ca', 'subjectAltName=DNS:temporal.test');
  makeCertificate('client', 'ca', 'extendedKeyUsage=clientAuth');
  makeCertificate('stranger', 'other', 'extendedKeyUsage=clientAuth');
  const [host = '', port = ''] = inject('temporalAddress').split(':');
  server = createServer(
    {
      ...pair('server'),
      ca: read('ca.pem'),
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['h2'],
      minVersion: 'TLSv1.2',
    },
    (socket) => {
      const inner = connectTcp(Number(port), host);
      socket.on('error', () => inner.destroy());
      inner.on('error', () => socket.destroy());
      socket.pipe(inner).pipe(socket);
    },
  );
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

function openssl(...words: readonly string[]): void {
  execFileSync('openssl', words, { cwd: folder, stdio: 'ignore' });
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'] as const;

function makeAuthority(name: string): void {
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.pem`,
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
  );
}

function makeCertificate(name: string, authority: string, extension: string): void {
  writeFileSync(join(folder, `${name}.ext`), extension);
  openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  openssl(
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-CA',
    `${authority}.pem`,
    '-CAkey',
    `${authority}.key`,
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    `${name}.ext`,
    '-out',
    `${name}.pem`,
  );
}

function read(file: string): Buffer {
  return readFileSync(join(folder, file));
}

function pair(name: string): { readonly cert: Buffer; readonly key: Buffer } {
  return { cert: read(`${name}.pem`), key: read(`${name}.key`) };
}

/** By variables, as Temporal's own tools read them. */
function byVariables({ ca = 'ca', client = 'client', name = 'temporal.test' } = {}): TemporalConfig {
  return loadConfig({
    cwd: folder,
    env: {
      HOME: folder,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_TLS: 'true',
      TEMPORAL_TLS_SERVER_NAME: name,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, `${ca}.pem`),
      ...(client === ''
        ? {}
        : {
            TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, `${client}.pem`),
            TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, `${client}.key`),
          }),
    },
  }).temporal;
}

/** By temporal.toml, with a profile. */
function byFile(): TemporalConfig {
  const file = join(folder, 'temporal.toml');
  const path = (name: string): string => JSON.stringify(join(folder, name));
  writeFileSync(
    file,
    [
      '[profile.prod]',
      `address = "${address}"`,
      'namespace = "default"',
      '[profile.prod.tls]',
      'server_name = "temporal.test"',
      `server_ca_cert_path = ${path('ca.pem')}`,
      `client_cert_path = ${path('client.pem')}`,
      `client_key_path = ${path('client.key')}`,
      '',
    ].join('\n'),
  );
  return loadConfig({
    cwd: folder,
    env: { HOME: folder, TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'prod' },
  }).temporal;
}

async function ask({ connection: options, namespace }: TemporalConfig): Promise<void> {
  const connection = await Connection.connect({ ...options, connectTimeout: '2 s' });
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } finally {
    await connection.close();
  }
}

describe('a TLS connection with a private CA', () => {
  it.each([
    ['variables', () => byVariables()],
    ['temporal.toml', byFile],
  ] as const)('set by %s serves clients and workers', async (_, settings) => {
    await ask(settings());
    const native = await NativeConnection.connect(settings().connection);
    await native.close();
  });

  it.each([
    ['another authority', { ca: 'other' }],
    ['another name of the server', { name: 'elsewhere.test' }],
    ['no certificate of its own', { client: '' }],
    ['a certificate of a stranger', { client: 'stranger' }],
  ] as const)('is refused with %s', async (_, wrong) => {
    await expect(ask(byVariables(wrong))).rejects.toThrow();
    await expect(NativeConnection.connect(byVariables(wrong).connection)).rejects.toThrow();
  });
});
