/**
 * Error codes for programs.
 * - NoServer: nothing answers at the server's address.
 * - NoWorker: no worker polls for the tasks, those that do have not answered in time, or none can continue
 *   the workflow, because its tasks fail.
 * - NotFound: the cluster, node, task, pool, request, image, machine or reservation does not exist.
 * - Refused: the request is not possible now; the message says why.
 * - Invalid: the request itself is wrong.
 * - Encryption: the answer could not be decrypted, or was not encrypted.
 * - Failed: the operation was not completed.
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
  /** The command that helps, if it differs from the default of the code. */
  readonly next: string | undefined;
  /** With NoWorker: workers polled in the last minutes, so the same call may be answered soon. */
  readonly isBusy: boolean;

  constructor(
    code: HeddleErrorCode,
    message: string,
    options: ErrorOptions & { readonly next?: string; readonly isBusy?: boolean } = {},
  ) {
    const { next, isBusy = false, ...cause } = options;
    super(message, cause);
    this.name = 'HeddleError';
    this.code = code;
    this.next = next;
    this.isBusy = isBusy;
  }
}
