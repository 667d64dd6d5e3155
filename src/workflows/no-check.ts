/**
 * The validator of updates that are always accepted once their shape is right. The SDK runs no interceptor
 * before an update is accepted unless the update has a validator, and what is accepted is written to the
 * history.
 */
export const noCheck = (..._args: readonly unknown[]): void => undefined;
