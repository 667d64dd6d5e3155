/** Codes a caller can act on; each answers with the HTTP status beside it. */
export const errorStatuses = {
  BadRequest: 400,
  Unauthorized: 401,
  QuotaExceeded: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  IdempotencyMismatch: 409,
  KeyMismatch: 409,
  Conflict: 409,
  Gone: 410,
  TooLarge: 413,
  TooManyRequests: 429,
  Internal: 500,
  InsufficientCapacity: 503,
  Unavailable: 503,
} as const;
export type ErrorCode = keyof typeof errorStatuses;

/** An answer other than success. The message goes to the caller as it is. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterSeconds?: number | undefined } = {},
  ) {
    super(message, options);
    this.name = 'ApiError';
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a system error such as ENOENT. */
export function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
