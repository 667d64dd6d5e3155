/** Whether an error comes from a call of the operating system. */
export function isSystemError(error: unknown): error is Error & { readonly path?: string } {
  return error instanceof Error && 'syscall' in error;
}

/** Whether an error has a code such as ENOENT. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
