import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { pinnedCli, pinnedDigest } from '../../src/server/pinned-cli.js';
import { pretendForeign } from '../harness/foreign.js';
import {
  BinaryNotFoundError,
  cachedBinaryPath,
  findBinary,
  type BinarySearch,
} from '../../src/server/find-binary.js';
import { newFolder } from '../harness/folder.js';

let folder: string;
let said: string[];

beforeEach(async () => {
  folder = newFolder();
  said = [];
});

function search(changes: Partial<BinarySearch> = {}): BinarySearch {
  return {
    temporalCli: undefined,
    path: '',
    cacheFolder: join(folder, 'cache'),
    say: (line) => said.push(line),
    ...changes,
  };
}

/** A program that prints what `temporal --version` does: the search looks at nothing else. */
async function put(file: string, server: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho 'temporal version 9.9.9 (Server ${server}, UI 2.0.0)'\n`);
  await chmod(file, 0o755);
  return file;
}

async function digestOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

describe('the order of places', () => {
  test('TEMPORAL_CLI comes before PATH, PATH before the cache', async () => {
    const cached = await put(cachedBinaryPath(join(folder, 'cache')), '1.32.0');
    expect(await findBinary(search({ cachedDigest: await digestOf(cached) }))).toEqual({
      path: cached,
      cliVersion: '9.9.9',
      serverVersion: '1.32.0',
      source: 'cache',
    });

    const onPath = await put(join(folder, 'bin', 'temporal'), '1.31.0');
    const path = [join(folder, 'nowhere'), dirname(onPath)].join(delimiter);
    expect(await findBinary(search({ path }))).toMatchObject({ path: onPath, source: 'PATH' });

    const named = await put(join(folder, 'my temporal'), '1.30.4');
    expect(await findBinary(search({ path, temporalCli: named }))).toMatchObject({
      path: named,
      source: 'TEMPORAL_CLI',
    });
  });

  test('one on PATH that is too old is skipped with a note', async () => {
    const old = await put(join(folder, 'bin', 'temporal'), '1.29.1');
    const cached = await put(cachedBinaryPath(join(folder, 'cache')), '1.32.0');
    expect(
      await findBinary(search({ path: dirname(old), cachedDigest: await digestOf(cached) })),
    ).toMatchObject({ path: cached });
    expect(said.join()).toMatch(/bin\/temporal is skipped: .*1\.29\.1.*CVE-2026-5724/);
  });

  test('a relative folder in PATH is skipped', async () => {
    await put(join(folder, 'temporal'), '1.32.0');
    const relative = join('..', '..', '..', '..', '..', '..', folder);
    await expect(findBinary(search({ path: relative }))).rejects.toThrow('none of its folders');
  });
});

describe('a program in the cache', () => {
  /** Leaves a mark when it runs, whatever it is asked. */
  async function plant(): Promise<{ readonly file: string; readonly mark: string; readonly digest: string }> {
    const file = await put(cachedBinaryPath(join(folder, 'cache')), '1.32.0');
    const mark = join(folder, 'it-ran');
    await appendFile(file, `touch '${mark}'\n`);
    return { file, mark, digest: await digestOf(file) };
  }

  // Promise: pinned-cli
  test('is not executed if its digest is not the pinned one', async () => {
    const { mark, digest } = await plant();
    await expect(findBinary(search())).rejects.toThrow(
      `its SHA-256 digest is ${digest}, not ${pinnedDigest()}. Remove it`,
    );
    expect(existsSync(mark)).toBe(false);
  });

  test('is not executed if it was changed after the check', async () => {
    const { file, mark, digest } = await plant();
    expect(await findBinary(search({ cachedDigest: digest }))).toMatchObject({ source: 'cache' });
    await rm(mark);
    await appendFile(file, '# changed\n');
    await expect(findBinary(search({ cachedDigest: digest }))).rejects.toThrow('its SHA-256 digest is');
    expect(existsSync(mark)).toBe(false);
  });

  test('is not executed if another user owns it, may write it, or may replace it', async () => {
    const { file, mark, digest } = await plant();
    const restore = pretendForeign(file);
    await expect(findBinary(search({ cachedDigest: digest })).finally(restore)).rejects.toThrow(
      /belongs to user \d+, neither/,
    );
    for (const [path, mode] of [
      [file, 0o777],
      [dirname(file), 0o777],
      [join(folder, 'cache'), 0o777],
    ] as const) {
      await chmod(path, mode);
      await expect(findBinary(search({ cachedDigest: digest }))).rejects.toThrow(
        `${path} may be written by other users`,
      );
      await chmod(path, 0o755);
    }
    expect(existsSync(mark)).toBe(false);
    expect(await findBinary(search({ cachedDigest: digest }))).toMatchObject({ path: file });
  });

  test('has a pinned digest for each supported platform, and is executed only there', async () => {
    expect(Object.keys(pinnedCli.programs)).toEqual([
      'linux-x64',
      'linux-arm64',
      'darwin-arm64',
      'darwin-x64',
    ]);
    const digests = [...Object.values(pinnedCli.programs), ...pinnedCli.wheels];
    expect(new Set(digests.filter((digest) => /^[0-9a-f]{64}$/.test(digest))).size).toBe(8);
    expect([
      pinnedDigest('win32', 'x64'),
      pinnedDigest('linux', 'riscv64'),
      pinnedDigest('toString', ''),
    ]).toEqual([undefined, undefined, undefined]);
  });
});

describe('an unusable TEMPORAL_CLI ends the search', () => {
  test.each([
    ['is too old', '1.24.2', 'CVE-2026-5724'],
    ['is something else', '', 'not a Temporal CLI'],
  ])('when it %s', async (_, server, words) => {
    await put(cachedBinaryPath(join(folder, 'cache')), '1.32.0');
    const named = await put(join(folder, 'temporal'), server);
    await expect(findBinary(search({ temporalCli: named }))).rejects.toThrow(words);
  });

  test('if it is missing, is not executable, or fails', async () => {
    await expect(findBinary(search({ temporalCli: join(folder, 'none') }))).rejects.toThrow(
      'the file does not exist',
    );
    await expect(findBinary(search({ temporalCli: folder }))).rejects.toThrow('it is not a file');
    const failing = join(folder, 'failing');
    await writeFile(failing, '#!/bin/sh\necho broken >&2; exit 3\n');
    await expect(findBinary(search({ temporalCli: failing }))).rejects.toThrow('is not executable');
    await chmod(failing, 0o755);
    await expect(findBinary(search({ temporalCli: failing }))).rejects.toThrow('it does not run');
  });
});

test('without any, the error names each place and the remedy', async () => {
  const error = await findBinary(search({ path: folder })).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(BinaryNotFoundError);
  expect(String(error)).toMatch(
    /TEMPORAL_CLI: it is not set[^]*PATH: none[^]*cache.*1\.9\.1.*the file does not exist[^]*What to do: install/,
  );
});
