/**
 * How soon work continues after the death of a worker; measured by bench/resume.mjs, with the heartbeats in
 * the table of activities.
 */

/** Delay in ms before an activity without heartbeats starts again; the next attempt continues its work. */
export const retryAfterMs = 200;

/**
 * Longest time, in ms, that a worker may take for one workflow task. A task that died with its worker is
 * given to another after this; the server's own 10 s would be most of the wait. The longest replay must fit
 * in, with room for a busy machine.
 */
export const workflowTaskMs = 4_000;

/** Nodes that a cluster may have for its replay to fit in surely; a larger one has the server's own limit. */
export const quickNodes = 100;
