import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';

// The automator in Python, as a program of its own.
automatorSuite(
  { describe, test, afterAll },
  {
    name: 'scripts',
    folders: [join(import.meta.dirname, '../../../examples/plugins')],
    script: (script, data) => ({ script, data }),
  },
);
