import type { MessageCase } from '../../schema/output/explain.js';
import type { CliErrorCode } from '../errors.js';
import type { TaskFailureKind } from './kinds.js';

/**
 * A message that does not say everything itself. `message` is a part of a text in src, with `…` in place of
 * each of its values: a test compares them, and the code as well.
 */
export type Case = MessageCase &
  (
    | { readonly of: 'command'; readonly code: CliErrorCode }
    | { readonly of: 'task'; readonly code: TaskFailureKind }
  );
