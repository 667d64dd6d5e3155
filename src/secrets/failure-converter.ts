import { DefaultFailureConverter } from '@temporalio/common';
import { unreadHistory } from '../model/unread-history.js';

/** Placeholder for the encrypted message of a failure. */
export const encryptedMessage = 'see encodedAttributes';

class EncodingFailureConverter extends DefaultFailureConverter {
  readonly #readable = new DefaultFailureConverter();

  constructor() {
    super({ encodeCommonAttributes: true });
  }

  override errorToFailure(
    ...[error, ...rest]: Parameters<DefaultFailureConverter['errorToFailure']>
  ): ReturnType<DefaultFailureConverter['errorToFailure']> {
    // This message is not secret, and clients read only the plaintext of a failed query. It is recognised by
    // its message, because an error loses its class between threads.
    return error instanceof Error && error.message === unreadHistory.message
      ? this.#readable.errorToFailure(error, ...rest)
      : withPlainWords(super.errorToFailure(error, ...rest));
  }

  override errorToFailureInner(
    ...parameters: Parameters<DefaultFailureConverter['errorToFailureInner']>
  ): ReturnType<DefaultFailureConverter['errorToFailureInner']> {
    const failure = super.errorToFailureInner(...parameters);
    return { ...failure, stackTrace: failure.stackTrace && withoutBuildPaths(failure.stackTrace) };
  }
}

/**
 * The Web UI shows the plain message in its rows, and the decrypted one under `encodedAttributes`. The type
 * of a failure is not encrypted.
 */
function withPlainWords(failure: Failure): Failure {
  const { applicationFailureInfo: application, timeoutFailureInfo, canceledFailureInfo } = failure;
  const type =
    application?.type || (timeoutFailureInfo ? 'Timeout' : canceledFailureInfo ? 'Cancelled' : 'Failure');
  return { ...failure, message: `${type}: ${encryptedMessage}` };
}

type Failure = ReturnType<DefaultFailureConverter['errorToFailure']>;

/** Removes installation folders from stack traces, so that they name only files of Heddle and packages. */
function withoutBuildPaths(stack: string): string {
  return stack
    .replaceAll(/(?<=[\s(])(?:file:\/\/)?\/[^\s()]*\/node_modules\//g, 'node_modules/')
    .replaceAll(/(?<=[\s(])(?:file:\/\/)?\/[^\s()]*\/dist\//g, 'heddle/dist/');
}

/**
 * Encrypts messages and stack traces of failures. Temporal loads this file by path, and prescribes the
 * export's name.
 */
export const failureConverter = new EncodingFailureConverter();
