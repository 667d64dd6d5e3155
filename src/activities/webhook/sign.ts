import { createHmac } from 'node:crypto';

/** A secret in the form of the Standard Webhooks specification: `whsec_` and 24 to 64 bytes in Base64. */
const secretForm = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** The bytes of a secret; undefined if it does not have the form. */
function readSecret(secret: string): Buffer | undefined {
  const bytes = Buffer.from(secretForm.exec(secret.trim())?.[1] ?? '', 'base64');
  return bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
}

export interface Signed {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * The headers of a signed message, as https://www.standardwebhooks.com specifies them;
 * undefined if the secret does not have the specified form.
 */
export function signedHeaders(
  secret: string,
  { id, timestamp, body }: Signed,
): Readonly<Record<string, string>> | undefined {
  const key = readSecret(secret);
  if (key === undefined) return undefined;
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` };
}
