import { spawnSync } from 'node:child_process';
import { rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { logInsProgram } from '../../../src/activities/machine/node-status.js';
import { newFolder } from '../../harness/folder.js';

/**
 * One record of utmp(5), as Linux has it: a log-in of a user is of type 7, the start of the system of type 2.
 */
function entry(type: number, user: string, line: string): Buffer {
  const written = Buffer.alloc(384);
  written.writeInt16LE(type, 0);
  written.writeInt32LE(process.pid, 4);
  written.write(line, 8, 'latin1');
  written.write(user, 44, 'latin1');
  written.writeInt32LE(1_782_896_400, 340);
  return written;
}

describe('whether a user was on a terminal of a machine', () => {
  let folder: string;
  beforeAll(() => {
    folder = newFolder();
  });

  async function ask(
    entries: readonly Buffer[],
    { newer = true, record = true } = {},
  ): Promise<number | null> {
    const [list, file] = [join(folder, 'wtmp'), join(folder, 'currentimage.txt')];
    await writeFile(list, Buffer.concat(entries));
    await rm(file, { force: true });
    if (record) await writeFile(file, 'base\n');
    await utimes(list, 2_000, newer ? 2_000 : 500);
    if (record) await utimes(file, 1_000, 1_000);
    return spawnSync('/bin/sh', ['-c', logInsProgram, 'sh', list, file]).status;
  }

  it.each([
    ['a user did', [entry(2, 'reboot', '~'), entry(7, 'ada', 'pts/0')], {}, 10],
    ['the system was only started again', [entry(2, 'reboot', '~')], {}, 11],
    ['the list is older than the image', [entry(7, 'ada', 'pts/0')], { newer: false }, 11],
    ['no user ever was', [], {}, 11],
    ['there is no record to compare with', [entry(7, 'ada', 'pts/0')], { record: false }, 1],
  ])('%s', async (_what, entries, options, code) => {
    expect(await ask(entries, options)).toBe(code);
  });
});
