import type { CommonOptions } from '../configuration.js';
import { validatePools, validationShown, type Validation } from '../validation.js';
import { localVerb } from '../verb.js';

/** Checks a pools.yaml without a server. */
export const check = localVerb(
  (file: string, _options: CommonOptions): Validation => ({ file, kind: 'pools', ...validatePools(file) }),
  validationShown,
);
