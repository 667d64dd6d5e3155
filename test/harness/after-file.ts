import { afterAll } from 'vitest';
import { cleanUp } from './leftovers.js';

// Evaluated for each file of tests. A hook of a module that several files use would belong to the first one
// alone, where they share a process.
afterAll(cleanUp);
