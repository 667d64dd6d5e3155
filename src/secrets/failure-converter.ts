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
    // This message holds no secret, and clients read only plaintext of a failed query.
    // Between threads an error loses its class.
    return error instanceof Error && error.message === unreadHistory.message
      ? this.#readable.errorToFailure(error, ...rest)
      : super.errorToFailure(error, ...rest);
  }

  override errorToFailureInner(
    ...parameters: Parameters<DefaultFailureConverter['errorToFailureInner']>
  ): ReturnType<DefaultFailureConverter['errorToFailureInner']> {
    const failure = super.errorToFailureInner(...parameters);
    return { ...failure, stackTrace: failure.stackTrace && withoutBuildPaths(failure.stackTrace) };
  }
}

/** Stack traces name files of Heddle and of packages, not the folder that they are installed in. */
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
