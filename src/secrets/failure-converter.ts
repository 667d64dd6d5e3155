import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Puts messages and stack traces of failures into a payload, so that the codec encrypts them too. Temporal loads this
 * file by its path, into workers, clients and the workflow bundle; the name of the export is Temporal's.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
