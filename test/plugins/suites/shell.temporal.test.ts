import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';

automatorSuite({ describe, test, afterAll }, { name: 'shell', script: (script, data) => ({ script, data }) });
