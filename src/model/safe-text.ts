/**
 * Says why a text must not enter an ssh_config, an argument list or an HTTP header; undefined where it may. A
 * control character or a quote would end the value early, and a leading hyphen would make it an option.
 */
export function unsafeText(
  text: string,
  { blanks = false, quotes = false }: { readonly blanks?: boolean; readonly quotes?: boolean } = {},
): string | undefined {
  if (text === '') return 'is empty';
  if (text.startsWith('-')) return 'begins with a hyphen';
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)) return 'holds a control character';
  if (!quotes && /["'`]/.test(text)) return 'holds a quote';
  return !blanks && /\s/.test(text) ? 'holds a blank' : undefined;
}

/**
 * Says why a text is no valid login name; undefined if it is. A `$` may end the name, as in Active Directory.
 */
export function unsafeUser(user: string): string | undefined {
  // OpenSSH expands %, ${} and ~, and reads # as the beginning of a comment.
  return (
    unsafeText(user) ??
    (/^[\p{L}\p{N}_.@+\\-]+\$?$/u.test(user)
      ? undefined
      : 'holds a character other than letters, digits and _ . @ + - \\')
  );
}
