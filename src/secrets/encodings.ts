/**
 * The forms of a secret in output: plain, JSON-escaped, URL-encoded, hexadecimal, base64 at each offset, and
 * each line of a multi-line key.
 */
export function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const hex = bytes.toString('hex');
  const url = encodeURIComponent(bytes.toString('utf8'));
  const escaped = JSON.stringify(secret).slice(1, -1);
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset));
  return [
    secret,
    secret.replaceAll('\n', '\r\n'),
    ...linesOf(secret),
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    escaped.replaceAll('/', '\\/'),
    url,
    url.replaceAll(/%../g, (code) => code.toLowerCase()),
    url.replaceAll('%20', '+'),
    url.replaceAll(/[!'()*]/g, percentOf),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

/** The Base64 digits that depend only on the secret, not on preceding and following bytes. */
function base64At(bytes: Buffer, offset: number): string {
  const digits = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  return digits.slice(first, last);
}

/** Single lines, because tools indent or prefix the lines of keys. Lines like `-----BEGIN` are not secret. */
function linesOf(secret: string): readonly string[] {
  const lines = secret.split(/\r?\n/);
  return lines.length < 2
    ? []
    : lines.map((line) => line.trim()).filter((line) => line.length >= 16 && !line.startsWith('-----'));
}

function percentOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
