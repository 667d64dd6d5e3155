import { readPublicKey } from './access.js';
import { formatImageRef, parseImageRef } from './image.js';
import { tagFault } from './selection.js';
import type { MachineIntent } from './intents.js';

const longestName = 100;

/** The problem with a request, independent of the machine; undefined if there is none. */
export function faultOf(intent: MachineIntent): string | undefined {
  if (
    'image' in intent &&
    intent.image !== undefined &&
    parseImageRef(formatImageRef(intent.image)) === undefined
  )
    return `"${formatImageRef(intent.image)}" is not a valid image: use name@revision, of letters, digits, dots, underscores and hyphens`;
  if ('user' in intent && !isName(intent.user))
    return `its user must be a name without control characters, of 1 to ${longestName} characters`;
  if (
    'publicKey' in intent &&
    intent.publicKey !== undefined &&
    readPublicKey(intent.publicKey) !== intent.publicKey
  ) {
    return 'its key must be the public key of an OpenSSH key pair: type and key, as in a .pub file';
  }
  if (intent.kind === 'group' || intent.kind === 'label') return tagFault(intent);
  if (intent.kind === 'quarantine' && intent.comment.trim() === '') return 'its comment is empty';
  return undefined;
}

function isName(user: unknown): boolean {
  return (
    typeof user === 'string' && user.trim() !== '' && user.length <= longestName && /^\P{Cc}+$/u.test(user)
  );
}
