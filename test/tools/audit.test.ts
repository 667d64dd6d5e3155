import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { childEnvironment } from '../../src/config/child-environment.js';
import { newFolder } from '../harness/folder.js';

const root = join(import.meta.dirname, '..', '..');
let registry: Server;
let cache: string;
/** What the registry knows of a package's faults; undefined: it does not serve the question. */
let advisories: object | undefined;
let asked: string[];
/** The ids of what OSV knows of the first package in Python; undefined: it does not answer. */
let known: readonly string[] | undefined;

beforeEach(async () => {
  cache = newFolder();
  asked = [];
  known = [];
  registry = createServer((request, response) => {
    if (request.url === '/v1/querybatch') return void answerOsv(request, response);
    request.resume();
    asked.push(`${request.method} ${request.url}`);
    if (request.method === 'POST' && advisories === undefined) return response.writeHead(405).end();
    if (request.method === 'POST')
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(advisories));
    // npm looks which versions of a package, and of what depends on it, are without fault.
    const name = decodeURIComponent((request.url ?? '/').slice(1));
    const packument = {
      name,
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { name, version: '1.0.0' } },
    };
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(packument));
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
});
afterEach(() => {
  registry.closeAllConnections();
  registry.close();
});

async function answerOsv(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { queries } = (await json(request)) as { readonly queries: readonly { readonly version: string }[] };
  if (known === undefined) return void response.writeHead(503).end();
  const vulns = known.map((id) => ({ id }));
  const results = queries.map((_, index) => (index === 0 && vulns.length > 0 ? { vulns } : {}));
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
}

/** npm itself, on our lockfile, with a registry of the test's own. */
async function audit(): Promise<{
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}> {
  const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  const env = {
    ...childEnvironment(),
    npm_config_registry: url,
    OSV_URL: url,
    npm_config_cache: cache,
    XDG_CACHE_HOME: cache,
  };
  const child = spawn(process.execPath, [join(root, 'tools', 'audit.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout.trim(), stderr };
}

describe('the audit of dependencies', () => {
  it('passes if the registry knows no vulnerability', async () => {
    advisories = {};
    expect(await audit()).toMatchObject({ code: 0, stdout: '2 passed, 0 failed' });
    expect(asked.some((call) => call.startsWith('POST /-/npm/v1/security/'))).toBe(true);
  });

  it('fails and names the package if the registry knows one', async () => {
    advisories = {
      yaml: [
        {
          id: 1,
          url: 'https://example.com/1',
          title: 'a hole',
          severity: 'high',
          vulnerable_versions: '<100.0.0',
          cwe: [],
          cvss: { score: 8, vectorString: null },
        },
      ],
    };
    const { code, stdout, stderr } = await audit();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '1 passed, 1 failed' });
    expect(stderr).toMatch(/failed: yaml .*high/);
  });

  it('counts as skipped, with the reason, if the registry does not answer', async () => {
    advisories = undefined;
    const { code, stdout, stderr } = await audit();
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1 passed, 0 failed, 1 skipped' });
    expect(stderr).toMatch(/skipped: no answer for the packages from npm: .*405/);
  });

  it('asks for the packages in Python too, each with its version', async () => {
    advisories = {};
    known = ['PYSEC-1'];
    const { code, stdout, stderr } = await audit();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '1 passed, 1 failed' });
    expect(stderr).toMatch(/in Python\n.*apache-libcloud==[\d.]+: PYSEC-1/);
    known = undefined;
    expect(await audit()).toMatchObject({ code: 0, stdout: '1 passed, 0 failed, 1 skipped' });
  });

  it('fails 14 days after the last answer, until there is another', async () => {
    const record = join(cache, 'heddle', 'audit-npm.json');
    const ago = (days: number): void =>
      writeFileSync(
        record,
        JSON.stringify({ answered: new Date(Date.now() - days * 86_400_000).toISOString() }),
      );
    advisories = {};
    expect(await audit()).toMatchObject({ code: 0, stdout: '2 passed, 0 failed' });
    advisories = undefined;
    ago(13);
    expect(await audit()).toMatchObject({ code: 0, stdout: '1 passed, 0 failed, 1 skipped' });
    ago(15);
    const { code, stderr } = await audit();
    expect(code).toBe(1);
    expect(stderr).toMatch(/failed: no answer for the packages from npm: .*the last was 15 days ago/);
    advisories = {};
    expect(await audit()).toMatchObject({ code: 0 });
    advisories = undefined;
    expect(await audit()).toMatchObject({ code: 0, stdout: '1 passed, 0 failed, 1 skipped' });
  });
});
