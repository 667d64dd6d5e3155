import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';

// The automator in Ruby, as a program of its own.
if (spawnSync('ruby', ['--version']).status !== 0)
  test.skip('the suite: ruby is not installed: npm run setup:extras installs it');
else
  automatorSuite(
    { describe, test, afterAll },
    {
      name: 'scripts-ruby',
      folders: [join(import.meta.dirname, '../../../examples/plugins')],
      script: (script, data) => ({ script, data }),
    },
  );
