import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';
import { startNode } from '../../harness/ssh-server.js';

/** Does what the suite's one recipe would: runs the shell text that stands in the attributes. */
const standIn = `#!${process.execPath}
const { spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const words = process.argv.slice(2);
const node = JSON.parse(readFileSync(words[words.indexOf('--json-attributes') + 1], 'utf8'));
if (words[words.indexOf('--override-runlist') + 1] !== 'recipe[suite]') process.exit(1);
process.exitCode = spawnSync('/bin/sh', ['-c', node.suite.script], { input: node.heddle.data, stdio: ['pipe', 'inherit', 'inherit'] }).status ?? 1;
`;

describe('with a stand-in executable instead of real Chef', () => {
  automatorSuite(
    { describe, test, afterAll },
    {
      name: 'chef',
      open: async () => {
        const node = await startNode();
        const bin = join(node.home, 'bin');
        mkdirSync(bin);
        writeFileSync(join(bin, 'chef-solo'), standIn);
        chmodSync(join(bin, 'chef-solo'), 0o755);
        node.env['PATH'] = `${bin}:${node.env['PATH'] ?? ''}`;
        return { ...node.target, close: () => node.close() };
      },
      script: (script, data) => ({
        runList: ['recipe[suite]'],
        attributes: { suite: { script } },
        data,
        sudo: false,
      }),
    },
  );
});
