import { createHash } from 'node:crypto';
import type { SettingsOrigin } from '../plugins/contract.js';

/** A node's SSH server, the login user, and the key that the server must show. */
export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  /** PEM or OpenSSH text. */
  readonly privateKey?: string;
  readonly passphrase?: string;
  /** Path of an agent's socket. The agent is asked to sign, never forwarded to the node. */
  readonly agent?: string;
  /**
   * A host that the connection goes through; its own key is verified too. It cannot read the traffic to the
   * target.
   */
  readonly jump?: SshTarget & { readonly hostKey: string | readonly string[] };
  /**
   * For a probe without a host key: the administrator accepts that the host that answers first gets the
   * password, and has its key pinned. Without this a password is sent only to a host whose key is known.
   */
  readonly pinsWithPassword?: boolean;
  /** Where its settings are: errors then name a remedy. */
  readonly origin?: SettingsOrigin;
  /** The keys the server may show, each `<type> <base64>` as in known_hosts. Only a probe may go without. */
  readonly hostKey?: string | readonly string[];
}

export function hostKeysOf(target: SshTarget): readonly string[] {
  if (target.hostKey === undefined) return [];
  return typeof target.hostKey === 'string' ? [target.hostKey] : target.hostKey;
}

/** For messages: never holds a credential. */
export function describeTarget(target: SshTarget): string {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const address = `${target.user}@${host}:${target.port}`;
  return target.jump === undefined ? address : `${address} through ${describeTarget(target.jump)}`;
}

/**
 * What a person must do after a failed login: what to correct, and whether it belongs to the host or to the
 * login.
 */
export function remedyFor(
  { origin }: SshTarget,
  what: string,
  of: keyof SettingsOrigin,
): { readonly remedy?: string } {
  return origin === undefined ? {} : { remedy: `${what} of ${origin[of]}` };
}

/**
 * Equal for two targets only if they may share a connection: same server, same way there, same keys expected,
 * same credentials.
 */
export function connectionKey(target: SshTarget): string {
  const identity = [
    target.host,
    target.port,
    target.user,
    hostKeysOf(target),
    target.password ?? null,
    target.privateKey ?? null,
    target.passphrase ?? null,
    target.agent ?? null,
    target.jump === undefined ? null : connectionKey(target.jump),
  ];
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex');
}
