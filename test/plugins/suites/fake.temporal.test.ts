import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';

const runsNothing = 'it runs no script of the user, only its own';

automatorSuite(
  { describe, test, afterAll },
  {
    name: 'fake',
    script: (_script, data) => ({ output: data }),
    without: {
      actions: runsNothing,
      data: runsNothing,
      results: runsNothing,
      once: runsNothing,
      failing: runsNothing,
      'lost-connection': runsNothing,
      cancel: runsNothing,
      garbage: runsNothing,
      'missing-fields': 'it needs no field: without any it succeeds at once',
    },
  },
);
