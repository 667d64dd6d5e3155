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
 * Encrypts messages and stack traces of failures. Temporal loads this file by path, and prescribes the
 * export's name.
 */
export const failureConverter = new EncodingFailureConverter();
