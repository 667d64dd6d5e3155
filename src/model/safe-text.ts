/**
 * Why text must not be used in an ssh_config, an argument list or an HTTP header; undefined if it may. A
 * control character or a quote would end the value early, and a leading hyphen would make it an option.
 */
export function unsafeText(
  text: string,
  { blanks = false, quotes = false }: { readonly blanks?: boolean; readonly quotes?: boolean } = {},
): string | undefined {
  if (text === '') return 'is empty';
  if (text.startsWith('-')) return 'begins with a hyphen';
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) return 'contains a control character';
  if (!quotes && /["'`]/.test(text)) return 'contains a quote';
  return !blanks && /\s/.test(text) ? 'contains a blank' : undefined;
}

/**
 * Why text is not a valid login name; undefined if it is. A `$` may end the name, as in Active Directory.
 */
export function unsafeUser(user: string): string | undefined {
  // OpenSSH expands %, ${} and ~, and reads # as the beginning of a comment.
  return (
    unsafeText(user) ??
    (/^[\p{L}\p{N}_.@+\\-]+\$?$/u.test(user)
      ? undefined
      : 'contains a character other than letters, digits and _ . @ + - \\')
  );
}
