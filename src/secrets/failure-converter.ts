import { DefaultFailureConverter } from '@temporalio/common';
import { unreadHistory } from '../model/unread-history.js';

class EncodingFailureConverter extends DefaultFailureConverter {
  readonly #readable = new DefaultFailureConverter();

  constructor() {
    super({ encodeCommonAttributes: true });
  }

  override errorToFailure(
    ...[error, ...rest]: Parameters<DefaultFailureConverter['errorToFailure']>
  ): ReturnType<DefaultFailureConverter['errorToFailure']> {
    // It tells nothing of anybody, and a client reads nothing of a query's failure but what is in the clear.
    // Between threads an error loses its class.
    return error instanceof Error && error.message === unreadHistory.message
      ? this.#readable.errorToFailure(error, ...rest)
      : super.errorToFailure(error, ...rest);
  }
}

/**
 * Puts messages and stack traces of failures into a payload, so that the codec encrypts them too. Temporal
 * loads this file by its path, into workers, clients and the workflow bundle; the name of the export is
 * Temporal's.
 */
export const failureConverter = new EncodingFailureConverter();
