import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';

automatorSuite({ describe, test, afterAll }, { name: 'linux', script: (script, data) => ({ script, data }) });
