/**
 * What cloud-init would make of user data, as far as the host key goes: JSON after `#cloud-config`, alone or
 * as the first part of a multipart text.
 */
export function bootedKey(base64: string): string | undefined {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  const line = /^#cloud-config\n(\{.*\})$/m.exec(text)?.[1];
  if (line === undefined) throw new Error(`no cloud-config in the user data: ${text.slice(0, 200)}`);
  return (JSON.parse(line) as { readonly ssh_keys?: { readonly ed25519_private: string } }).ssh_keys
    ?.ed25519_private;
}
