import { afterAll, describe, test } from 'vitest';
import { openMachine } from '../../../src/testing/cuttable-node.js';
import { automatorSuite } from '../../../src/testing/index.js';
import { unable } from '../../harness/reservation/real-machine.js';

automatorSuite(
  { describe, test, afterAll },
  {
    name: 'linux',
    script: (script, data) => ({ script, data }),
    accounts: true,
    system: true,
    ...(unable === undefined
      ? { open: () => openMachine('sandbox') }
      : { without: { access: unable, system: unable, 'system-reset': unable } }),
  },
);
