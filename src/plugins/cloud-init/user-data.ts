import { createHash } from 'node:crypto';
import { PluginError } from '../errors.js';
import type { HostKey } from './host-key.js';

export interface UserDataParts {
  readonly hostname: string;
  readonly hostKey?: HostKey | undefined;
  /** SSH public keys that may log in as the image's own user. */
  readonly publicKeys?: readonly string[];
  /**
   * The user's part: a script, `#cloud-config`, or another kind that cloud-init detects by its first line.
   */
  readonly own?: string | undefined;
}

/** The limit of clouds, in bytes before base64. */
const mostBytes = 16_384;

/**
 * The user data for the first boot: host key, public keys, and then the user's part. It is deterministic.
 * @throws PluginError Invalid if it is too long, or the user's part is of an unknown kind.
 */
export function makeUserData({ hostname, hostKey, publicKeys = [], own }: UserDataParts): string {
  const settings = {
    hostname,
    preserve_hostname: false,
    ...(publicKeys.length === 0 ? {} : { ssh_authorized_keys: publicKeys }),
    // Host keys in the image would be shared by all of its machines.
    ...(hostKey === undefined
      ? {}
      : {
          ssh_deletekeys: true,
          ssh_genkeytypes: [],
          ssh_keys: { ed25519_private: hostKey.private, ed25519_public: `${hostKey.public} heddle` },
        }),
  };
  // JSON is YAML too.
  const ours = `#cloud-config\n${JSON.stringify(settings)}\n`;
  const text = own === undefined || own.trim() === '' ? ours : joined(ours, own);
  if (Buffer.byteLength(text) > mostBytes)
    throw new PluginError(
      'Invalid',
      `the user data has ${Buffer.byteLength(text)} bytes including Heddle's part, but the limit is ${mostBytes}; move parts of userData into a service's script`,
    );
  return text;
}

/** First lines that cloud-init detects, and their content types. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/^#cloud-config\b/, 'text/cloud-config'],
  [/^#!/, 'text/x-shellscript'],
  [/^#cloud-boothook\b/, 'text/cloud-boothook'],
  [/^#include\b/, 'text/x-include-url'],
];

function joined(ours: string, own: string): string {
  const kind = kinds.find(([first]) => first.test(own))?.[1];
  if (kind === undefined)
    throw new PluginError(
      'Invalid',
      'userData must begin with #cloud-config, #!, #cloud-boothook or #include, which cloud-init requires',
    );
  const boundary = `heddle-${createHash('sha256')
    .update(ours + own)
    .digest('hex')
    .slice(0, 24)}`;
  // Lists and maps of both parts are merged; in conflicts ours takes precedence.
  const part = (type: string, content: string): string =>
    `--${boundary}\nContent-Type: ${type}; charset="utf-8"\nMIME-Version: 1.0\nMerge-Type: list(append)+dict(no_replace,recurse_list)+str()\n\n${content.endsWith('\n') ? content : `${content}\n`}`;
  return `Content-Type: multipart/mixed; boundary="${boundary}"\nMIME-Version: 1.0\n\n${part('text/cloud-config', ours)}${part(kind, own)}--${boundary}--\n`;
}
