/**
 * Why a request could not be carried out, in words a program can act on.
 * - NoServer: nothing answers at the server's address.
 * - NoWorker: the server is there, but no worker takes the cluster's tasks.
 * - NotFound: there is no such cluster, node, task, pool, request, image, machine or reservation.
 * - Refused: the cluster does not take this request now; the message says why.
 * - Invalid: the request itself is wrong.
 * - Encryption: what came back could not be decrypted, or was not encrypted.
 * - Failed: the operation was not brought to its end.
 */
export type HeddleErrorCode =
  | 'NoServer'
  | 'NoWorker'
  | 'NotFound'
  | 'Refused'
  | 'Invalid'
  | 'Encryption'
  | 'Failed';

export class HeddleError extends Error {
  readonly code: HeddleErrorCode;
  /** The command that helps, where it is another one than the code's own. */
  readonly next: string | undefined;

  constructor(
    code: HeddleErrorCode,
    message: string,
    options: ErrorOptions & { readonly next?: string } = {},
  ) {
    const { next, ...cause } = options;
    super(message, cause);
    this.name = 'HeddleError';
    this.code = code;
    this.next = next;
  }
}
