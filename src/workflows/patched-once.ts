import { patched } from '@temporalio/workflow';

// Each run of a workflow has its own instance of this module.
const answers: Record<string, boolean> = {};

/**
 * Like `patched`, for changes that a run meets more than once: the first answer holds for the run. Otherwise a run that
 * an earlier build began would change its behaviour half-way.
 */
export function patchedOnce(patch: string): boolean {
  return (answers[patch] ??= patched(patch));
}
