import ssh2, {
  type AuthContext,
  type AuthenticationType,
  type ParsedKey,
  type PublicKeyAuthContext,
} from 'ssh2';
import { sameSecret } from '../api-key.js';
import { readIfPresent } from '../files.js';

export interface Login {
  readonly user: string;
  readonly password: string;
  /** Read at every login, so that keys added on the machine count. */
  readonly authorizedKeysFile: string;
}

const methods: AuthenticationType[] = ['publickey', 'password'];

/** Accepts only the machine's user, with its password or a key of its authorized_keys file. */
export function authenticate(context: AuthContext, login: Login): void {
  if (context.username !== login.user) return context.reject(methods);
  if (context.method === 'password') {
    return sameSecret(context.password, login.password) ? context.accept() : context.reject(methods);
  }
  if (context.method === 'publickey' && isAuthorized(context, login.authorizedKeysFile))
    return context.accept();
  context.reject(methods);
}

/** A public key in the form of an authorized_keys line; undefined if malformed. */
export function parsePublicKey(line: string): ParsedKey | undefined {
  const key = ssh2.utils.parseKey(line);
  return key instanceof Error || key.isPrivateKey() ? undefined : key;
}

/** Without a signature the client only asks whether the key would be accepted. */
function isAuthorized(context: PublicKeyAuthContext, file: string): boolean {
  return authorizedKeys(file).some((key) => {
    if (!key.getPublicSSH().equals(context.key.data)) return false;
    if (context.signature === undefined || context.blob === undefined) return true;
    return key.verify(context.blob, context.signature, context.hashAlgo);
  });
}

function authorizedKeys(file: string): readonly ParsedKey[] {
  const lines = (readIfPresent(file) ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  return lines.flatMap((line) => parsePublicKey(line) ?? []);
}
