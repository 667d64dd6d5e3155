import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeArchive } from '../../../src/store/archive/write-archive.js';
import { type Stack, startStack } from '../../harness/stack.js';
import { type Ground, openGround, recipe } from '../../harness/image/ground.js';

describe('a recipe with resources', () => {
  let stack: Stack;
  let ground: Ground;

  beforeAll(async () => {
    stack = await startStack();
    await Promise.all([stack.startWorker(), stack.startBuilder()]);
    ground = openGround(stack);
  });

  it('uses those that it was applied with, although their names mean others later; these are not pruned', async () => {
    const { resources, images } = stack.client;
    const put = async (word: string): Promise<void> => {
      const { version } = await resources.put('setup', {
        format: 'archive',
        bytes: writeArchive([
          {
            path: 'install.sh',
            kind: 'file',
            executable: true,
            bytes: Buffer.from(`echo ${word} >>"$LEDGER"\n`),
          },
        ]),
      });
      await resources.set('setup', version);
    };
    const ledger = join(stack.folder, 'ledger');
    const services = {
      greeting: {
        actions: {
          install: {
            type: 'shell',
            fields: { scripts: { resource: 'setup' }, file: 'install.sh', environment: { LEDGER: ledger } },
          },
        },
      },
    };
    await put('one');
    await ground.apply('web', { recipe, services, validate: false });
    for (const word of ['two', 'three', 'four']) await put(word);
    const { versions, pruning } = await resources.prunable(-60_000);
    expect(versions).toMatchObject([{ name: 'setup', version: 2 }]);
    await resources.prune(pruning);
    await ground.build('web');
    expect(await readFile(ledger, 'utf8')).toBe('one\n');
    await ground.apply('web', { recipe, services, validate: false });
    await ground.build('web');
    expect(await readFile(ledger, 'utf8')).toBe('one\nfour\n');
    await images.delete('web');
    await images.gone('web');
  });
});
