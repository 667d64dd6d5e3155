import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BinaryNotFoundError, cachedBinaryPath, findBinary, type BinarySearch } from '../../src/server/find-binary.js';

let folder: string;
let said: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle find-'));
  said = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function search(changes: Partial<BinarySearch> = {}): BinarySearch {
  return { temporalCli: undefined, path: '', cacheFolder: join(folder, 'cache'), download: false, say: (line) => said.push(line), ...changes };
}

/** A program that prints what `temporal --version` does: the search looks at nothing else. */
async function put(file: string, server: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho 'temporal version 9.9.9 (Server ${server}, UI 2.0.0)'\n`);
  await chmod(file, 0o755);
  return file;
}

describe('the order of places', () => {
  test('TEMPORAL_CLI comes before PATH, PATH before the cache', async () => {
    const cached = await put(cachedBinaryPath(join(folder, 'cache')), '1.32.0');
    expect(await findBinary(search())).toEqual({ path: cached, cliVersion: '9.9.9', serverVersion: '1.32.0', source: 'cache' });

    const onPath = await put(join(folder, 'bin', 'temporal'), '1.31.0');
    const path = [join(folder, 'nowhere'), dirname(onPath)].join(delimiter);
    expect(await findBinary(search({ path }))).toMatchObject({ path: onPath, source: 'PATH' });

    const named = await put(join(folder, 'my temporal'), '1.30.4');
    expect(await findBinary(search({ path, temporalCli: named }))).toMatchObject({ path: named, source: 'TEMPORAL_CLI' });
  });

  test('one on PATH that is too old is passed over, with a word about it', async () => {
    const old = await put(join(folder, 'bin', 'temporal'), '1.29.1');
    const cached = await put(cachedBinaryPath(join(folder, 'cache')), '1.32.0');
    expect(await findBinary(search({ path: dirname(old) }))).toMatchObject({ path: cached });
    expect(said.join()).toMatch(/bin\/temporal is passed over: .*1\.29\.1.*CVE-2026-5724/);
  });

  test('a relative folder in PATH is not looked into', async () => {
    await put(join(folder, 'temporal'), '1.32.0');
    const relative = join('..', '..', '..', '..', '..', '..', folder);
    await expect(findBinary(search({ path: relative }))).rejects.toThrow('none of its folders');
  });
});

describe('a TEMPORAL_CLI that cannot be used ends the search', () => {
  test.each([
    ['is too old', '1.24.2', 'CVE-2026-5724'],
    ['is something else', '', 'no Temporal CLI'],
  ])('when it %s', async (_, server, words) => {
    await put(cachedBinaryPath(join(folder, 'cache')), '1.32.0');
    const named = await put(join(folder, 'temporal'), server);
    await expect(findBinary(search({ temporalCli: named }))).rejects.toThrow(words);
  });

  test('when it is missing, may not be executed, or fails', async () => {
    await expect(findBinary(search({ temporalCli: join(folder, 'none') }))).rejects.toThrow('there is no such file');
    await expect(findBinary(search({ temporalCli: folder }))).rejects.toThrow('it is no file');
    const failing = join(folder, 'failing');
    await writeFile(failing, '#!/bin/sh\necho broken >&2; exit 3\n');
    await expect(findBinary(search({ temporalCli: failing }))).rejects.toThrow('may not be executed');
    await chmod(failing, 0o755);
    await expect(findBinary(search({ temporalCli: failing }))).rejects.toThrow('it does not run');
  });
});

test('without any, the error names each place and what to do', async () => {
  const error = await findBinary(search({ path: folder })).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(BinaryNotFoundError);
  expect(String(error)).toMatch(/TEMPORAL_CLI: it is not set[^]*PATH: none[^]*cache.*1\.9\.1.*no such file[^]*What to do: install/);
});
