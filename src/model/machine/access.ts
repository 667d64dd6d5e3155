import type { Json, JsonObject } from '../json.js';

/**
 * The account of a machine's user. It exists from the log-in until it is revoked, and has no other purpose.
 */
export interface Access {
  readonly user: string;
  /** The reservation that it belongs to; absent where an administrator let the user in. */
  readonly reservation?: string;
  /** Name of the account. */
  readonly login: string;
  readonly password?: string;
  /** The user's own public key, used in place of a password. */
  readonly publicKey?: string;
  /** RFC 3339: when the account expires if it is not revoked earlier. */
  readonly until?: string;
  /** Digest of the machine's own accounts before the user came; absent until the account was created. */
  readonly accounts?: string;
  /** The account is gone, but the machine's own accounts differ from `accounts`: this is their digest now. */
  readonly changed?: string;
}

/** What the user needs to log in. */
export interface MachineAccess {
  readonly address: Json;
  readonly port: Json;
  readonly hostKey: Json;
  /** Absent for a resource without log-in. */
  readonly login?: { readonly user: string; readonly password?: string };
}

/** Accounts whose names begin so are Heddle's to create and to remove. */
const loginPrefix = 'hd-';
const longestLogin = 32;

/**
 * A Unix account name for any user name. It never names an account of the image, which has no such prefix.
 */
export function loginOf(user: string): string {
  const plain = user
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return `${loginPrefix}${plain === '' ? 'user' : plain}`.slice(0, longestLogin).replace(/-+$/, '');
}

const publicKeyPattern =
  /^((?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com) [A-Za-z0-9+/]{32,4096}={0,2})(?: .*)?$/;

/** Type and key of one line of a .pub file, without options and comment; undefined if malformed. */
export function readPublicKey(text: string): string | undefined {
  return publicKeyPattern.exec(text.trim())?.[1];
}

/**
 * What remains to be done once the account is gone: nothing (undefined), or to replace a system whose
 * accounts changed.
 */
export function afterRevocation(
  { password: _password, publicKey: _key, ...access }: Access,
  accounts: string | undefined,
): Access | undefined {
  const isSame = access.accounts === undefined || accounts === undefined || accounts === access.accounts;
  return isSame ? undefined : { ...access, changed: accounts };
}

interface EnteredMachine {
  readonly state: string;
  readonly holder?: { readonly reservation: string };
  readonly payload: JsonObject;
  readonly access?: Access;
}

/** Null if the machine is not reserved for the requester, or its account no longer exists. */
export function accessFor(
  { state, holder, payload, access }: EnteredMachine,
  reservation: string | undefined,
): MachineAccess | null {
  if (state !== 'in use' || holder?.reservation !== reservation || access?.changed !== undefined) return null;
  const {
    ipaddress = null,
    'ssh-port': port = ipaddress === null ? null : 22,
    'ssh-host-key': hostKey = null,
  } = payload;
  if (access === undefined) return { address: ipaddress, port, hostKey };
  const { login, password } = access;
  return { address: ipaddress, port, hostKey, login: { user: login, password } };
}
