import type { Json } from '../../src/model/json.js';
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { splitWords } from '../../src/model/command-words.js';
import { isSecretReference } from '../../src/model/secret-reference.js';
import { allowReferences } from '../../src/secrets/allowed.js';
import { resolveSecrets, SecretError, type SecretSources } from '../../src/secrets/reference.js';
import { newFolder } from '../harness/folder.js';

const node = process.execPath;
const environment = {
  TOKEN: 'token-from-env',
  EMPTY: '',
  SEEN: 'by the command',
  HEDDLE_KEYS: 'opens-all-payloads',
};
let folder: string;

beforeEach(() => {
  folder = newFolder();
});

const origin = { writtenBy: 'administrator', place: '$' } as const;

describe('resolveSecrets', () => {
  it('replaces references at any depth, leaves everything else, and lists each secret once', async () => {
    const value = {
      a: { secret: 'env:TOKEN' },
      list: [{ secret: 'env:TOKEN' }, 1, null],
      deep: { secret: 'env:TOKEN', note: 'no reference' },
      text: 'env:TOKEN',
    };
    const { value: resolved, secrets } = await resolve(value);
    expect(resolved).toEqual({
      a: 'token-from-env',
      list: ['token-from-env', 1, null],
      deep: { secret: 'env:TOKEN', note: 'no reference' },
      text: 'env:TOKEN',
    });
    expect(secrets).toEqual(['token-from-env']);
    expect(value.a).toEqual({ secret: 'env:TOKEN' });
  });

  it('reads files, without one trailing newline', async () => {
    await writeFile(join(folder, 'key'), 'line 1\nline 2\n\n');
    expect((await resolve({ secret: `file:${join(folder, 'key')}` })).value).toBe('line 1\nline 2\n');
  });

  it('reads no process environment through a link', async () => {
    await symlink('/proc/self/environ', join(folder, 'link'));
    await symlink('/proc/self', join(folder, 'process'));
    for (const file of ['link', 'process/environ'])
      await expect(resolve({ secret: `file:${join(folder, file)}` })).rejects.toThrow('is a system file');
  });

  it('returns a changed secret the next time', async () => {
    const file = join(folder, 'key');
    const seen = [];
    for (const text of ['first', 'second']) {
      await writeFile(file, text);
      seen.push((await resolve({ secret: `file:${file}` })).value);
    }
    expect(seen).toEqual(['first', 'second']);
  });

  it('keeps a key named __proto__', async () => {
    const { value } = await resolve(JSON.parse('{"__proto__": {"secret": "env:TOKEN"}}'));
    expect(JSON.stringify(value)).toBe('{"__proto__":"token-from-env"}');
  });

  it.each([
    ['env:NOT_SET', /^fields\.key: .*\(env:\).*NOT_SET is not set/],
    ['env:EMPTY', /EMPTY is not set/],
    ['env:constructor', /constructor is not set/],
    ['env:HEDDLE_KEYS', /HEDDLE_KEYS is reserved for Heddle/],
    ['env:TEMPORAL_API_KEY', /TEMPORAL_API_KEY is reserved for Heddle or Temporal/],
    ['file:/proc/self/environ', /\/proc\/self\/environ is a system file/],
    [`file:/proc/${process.pid}/environ`, /is a system file/],
    ['file:/proc/self/../self/environ', /is a system file/],
    ['file:/dev/fd/0', /is a system file/],
    ['file:/dev/zero', /\/dev\/zero is not a regular file/],
    ['file:/no/such/file', /^fields\.key: .*\(file:\).*: \/no\/such\/file: there is no such file$/],
    ['file:/etc', /\/etc is not a regular file/],
    [`file:/${'a'.repeat(300)}`, /: its name is too long$/],
    ['exec:/no/such/program', /\(exec:\).*cannot be started/],
    ['exec:', /the command is missing/],
    ['exec:"open', /quote/],
    ['vault:secret/data/a#b', /no Vault is configured/],
  ])('names place, scheme and reason for %s', async (secret, message) => {
    await expect(
      resolveSecrets({ key: { secret } }, { environment }, { writtenBy: 'administrator', place: 'fields' }),
    ).rejects.toThrow(message);
  });

  it('never quotes a text without a scheme, which may be the secret itself', async () => {
    const error = await resolve({ list: [{ secret: 'hunter2hunter2' }] }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SecretError);
    expect(inspect(error)).toContain('$.list[0]');
    expect(inspect(error)).not.toContain('hunter2');
  });
});

describe('a reference that a user wrote', () => {
  const users = {
    writtenBy: 'user',
    place: 'fields',
    allows: (reference: string) => reference === 'env:SEEN',
  } as const;

  it('is resolved if it is permitted', async () => {
    expect(await resolveSecrets({ a: { secret: 'env:SEEN' } }, { environment }, users)).toMatchObject({
      value: { a: environment.SEEN },
    });
  });

  it('is refused otherwise, without reading the value', async () => {
    const marker = join(folder, 'marker');
    const value = { a: { secret: `exec:/usr/bin/touch ${marker}` }, b: [{ secret: 'env:SEEN' }] };
    await expect(resolveSecrets(value, { environment }, users)).rejects.toThrow(
      /^fields\.a refers to a secret that cluster files may not use; .*secrets\.allow/,
    );
    expect(existsSync(marker)).toBe(false);
  });

  // Promise: own-files-opened
  it.each(['a link', 'a folder on the way'])(
    'reads no file that may not be read, if %s changes after the reference was checked',
    async (what) => {
      const [own, theirs] = [join(folder, 'own'), join(folder, 'theirs')];
      for (const [at, text] of [
        [own, 'payload keys'],
        [theirs, 'harmless'],
      ] as const) {
        await mkdir(at);
        await writeFile(join(at, 'file'), text);
      }
      const link = join(folder, 'link');
      const path = what === 'a link' ? link : join(link, 'file');
      const lead = (to: string): void => {
        rmSync(link, { force: true });
        symlinkSync(what === 'a link' ? join(to, 'file') : to, link);
      };
      const allowed = allowReferences(undefined, [own]);
      const resolveWhile = (change: () => void) =>
        resolveSecrets(
          { secret: `file:${path}` },
          { environment },
          {
            ...users,
            allows: (reference, opened) => {
              const answer = allowed(reference, opened);
              if (opened === undefined) change();
              return answer;
            },
          },
        );
      lead(theirs);
      await expect(resolveWhile(() => lead(own))).rejects.toThrow(
        `${path} leads to a file that cluster files may not read`,
      );
      lead(theirs);
      expect(await resolveWhile(() => undefined)).toMatchObject({ value: 'harmless' });
    },
  );
});

describe('exec:', () => {
  it('executes the words without a shell, with the environment of the worker', async () => {
    const script = join(folder, 'my script.mjs');
    await writeFile(script, 'console.log(process.argv.slice(2).join("|") + "|" + process.env.SEEN);');
    const { value } = await resolve({ secret: `exec:${node} "${script}" '$(id)' a\\ b ; *` });
    expect(value).toBe('$(id)|a b|;|*|by the command');
  });

  it('does not get the payload keys', async () => {
    const { value } = await resolve({
      secret: `exec:${node} -p 'String(process.env.SEEN) + String(process.env.HEDDLE_KEYS)'`,
    });
    expect(value).toBe('by the commandundefined');
  });

  it('reports the exit code, and neither output nor arguments', async () => {
    const error = await resolve({
      secret: `exec:${node} -e 'console.log("hunter2");console.error("hunter2");process.exit(3)'`,
    }).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/ended with exit code 3/);
    expect(inspect(error)).not.toContain('hunter2');
  });

  it('is ended at the deadline, with its children', async () => {
    const pidFile = join(folder, 'pid');
    const script = join(folder, 'hang.mjs');
    await writeFile(
      script,
      `import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs';
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      writeFileSync(${JSON.stringify(pidFile)}, String(child.pid)); setInterval(() => {}, 1000);`,
    );
    await expect(
      resolveSecrets({ secret: `exec:${node} '${script}'` }, { environment, timeoutMs: 1500 }, origin),
    ).rejects.toThrow(/did not end within 1500 ms/);
    const { readFile } = await import('node:fs/promises');
    const pid = Number(await readFile(pidFile, 'utf8'));
    await expect.poll(() => isAlive(pid), { timeout: 240_000 }).toBe(false);
  });

  it('is cancelled by the signal, and limited in its output', async () => {
    const signal = AbortSignal.abort();
    await expect(
      resolveSecrets(
        { secret: `exec:${node} -e 'setInterval(()=>{},1000)'` },
        { environment, signal },
        origin,
      ),
    ).rejects.toThrow(/was cancelled/);
    await expect(
      resolve({ secret: `exec:${node} -e 'process.stdout.write("x".repeat(1e6))'` }),
    ).rejects.toThrow(/more than/);
    await expect(resolve({ secret: `exec:${node} -e 0` })).rejects.toThrow(/provides no value/);
  });

  it.each([
    ['a  b\tc', ['a', 'b', 'c']],
    [`'a b' "c d"`, ['a b', 'c d']],
    [`a'b c'd`, ['ab cd']],
    [`"a\\"b\\\\" \\'`, ['a"b\\', "'"]],
    [`''`, ['']],
    ['', []],
    [`'a\nb'`, ['a\nb']],
  ])('splits %j as a shell would', (line, words) => {
    expect(splitWords(line)).toEqual(words);
  });

  it.each([`'a`, '"a', 'a\\'])('refuses %j', (line) => {
    expect(() => splitWords(line)).toThrow(/quote/);
  });
});

describe('vault:', () => {
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    requests.push({ path: url, headers });
    if (headers['x-vault-token'] !== 'vault-token')
      response.writeHead(403).end('{"errors":["permission denied"]}');
    else if (url.endsWith('/broken')) response.end('hunter2 is not JSON');
    else if (url.endsWith('/moved')) response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end();
    else if (url.endsWith('/cloud%20one'))
      response.end(
        JSON.stringify({ data: { data: { token: 'from-vault', port: 1 }, metadata: { version: 2 } } }),
      );
    else response.writeHead(404).end('{"errors":[]}');
  });
  let vault: { address: string; token: string; namespace: string };
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    vault = {
      address: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
      token: 'vault-token',
      namespace: 'team',
    };
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('reads a field of a KV version 2 secret', async () => {
    expect((await resolve({ secret: 'vault:secret/data/cloud one#token' }, { vault })).value).toBe(
      'from-vault',
    );
    expect(requests.at(-1)).toMatchObject({
      path: '/v1/secret/data/cloud%20one',
      headers: { 'x-vault-namespace': 'team' },
    });
  });

  it.each([
    ['secret/data/cloud one#nosuch', /no text field nosuch/],
    ['secret/data/cloud one#port', /no text field port/],
    ['secret/data/cloud one#constructor', /no text field/],
    ['secret/data/none#a', /Vault returned 404 for \/v1\/secret\/data\/none/],
    ['secret/data/broken#a', /no JSON/],
    ['secret/data/moved#a', /does not answer/],
    ['secret/../sys/seal#a', /must be vault:/],
    ['secret/data/a', /must be vault:/],
  ])('reports %s', async (reference, message) => {
    const error = await resolve({ secret: `vault:${reference}` }, { vault }).catch(
      (thrown: unknown) => thrown,
    );
    expect(String(error)).toMatch(message);
    expect(inspect(error)).not.toMatch(/hunter2|vault-token/);
  });

  it('distinguishes a refused token from an absent server', async () => {
    await expect(
      resolve({ secret: 'vault:secret/data/a#b' }, { vault: { ...vault, token: 'old' } }),
    ).rejects.toThrow(/403.*expired/);
    await expect(
      resolve({ secret: 'vault:secret/data/a#b' }, { vault: { ...vault, address: 'http://127.0.0.1:9' } }),
    ).rejects.toThrow(/127\.0\.0\.1:9 does not answer/);
  });
});

it('treats only an object whose one key is secret as a reference', () => {
  const values: readonly Json[] = [
    { secret: 'env:A' },
    { secret: 1 },
    { secret: 'a', b: 1 },
    'secret',
    null,
    [],
  ];
  expect(values.map((value) => isSecretReference(value))).toEqual([true, false, false, false, false, false]);
});

function resolve(
  value: Parameters<typeof resolveSecrets>[0],
  sources: Partial<SecretSources> = {},
): ReturnType<typeof resolveSecrets> {
  return resolveSecrets(value, { environment, ...sources }, origin);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
