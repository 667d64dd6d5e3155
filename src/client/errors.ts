/**
 * Why a request could not be carried out, in words a program can act on.
 * - NoServer: nothing answers at the server's address.
 * - NoWorker: the server is there, but no worker takes the cluster's tasks.
 * - NotFound: there is no such cluster, node or task.
 * - Refused: the cluster does not take this request now; the message says why.
 * - Invalid: the request itself is wrong.
 * - Encryption: what came back could not be decrypted, or was not encrypted.
 * - Failed: the operation was not brought to its end.
 */
export type HeddleErrorCode = 'NoServer' | 'NoWorker' | 'NotFound' | 'Refused' | 'Invalid' | 'Encryption' | 'Failed';

export class HeddleError extends Error {
  readonly code: HeddleErrorCode;

  constructor(code: HeddleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HeddleError';
    this.code = code;
  }
}
