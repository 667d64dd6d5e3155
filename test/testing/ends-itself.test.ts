import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ProgramFault } from '../../src/plugins/errors.js';
import { loadRegistry } from '../../src/plugins/registry.js';
import { endsItself } from '../../src/testing/cancelled.js';
import { newFolder } from '../harness/folder.js';
import { writeFiles } from '../harness/programs/bench.js';

test('only a class that gets the signal must end a cancelled call by itself', async () => {
  const folder = newFolder();
  writeFiles(folder, {
    'providers/script/script.json': {
      ...{ name: 'script', type: 'provider', version: '1.0.0', description: 'A program' },
      command: ['./script.sh'],
    },
    'providers/script/script.sh': '#!/bin/sh\n',
    'providers/loom/loom.json': { loom: { classname: 'OfLoom' } },
    'providers/loom/loom.rb': 'class OfLoom < Provider; end\n',
    'bin/ruby': '#!/bin/sh\n',
  });
  const registry = await loadRegistry({
    folders: [folder],
    log: { info: () => undefined },
    programs: { environment: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` }, limits: {} },
  });
  try {
    const ended = new ProgramFault('plugin p was cancelled in create; its program was ended by SIGTERM');
    for (const name of ['script', 'loom'])
      expect(() => endsItself(ended, registry.provider(name)), name).not.toThrow();
    expect(() => endsItself(ended, registry.provider('local'))).toThrow('the class ignores its signal');
  } finally {
    await registry.close();
  }
});
