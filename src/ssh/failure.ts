import { PluginError } from '../plugins/errors.js';
import { fingerprint, parseHostKey } from './host-key.js';
import { printable } from './printable.js';
import { describeTarget, hostKeysOf, remedyFor, type SshTarget } from './target.js';

/**
 * Puts a failed connection attempt into the engine's words. `refused` is the host key that was turned down,
 * if one was.
 */
export function explainFailure(target: SshTarget, error: unknown, refused: Buffer | undefined): PluginError {
  const where = describeTarget(target);
  if (error instanceof PluginError) return error;
  if (refused !== undefined) return hostKeyRefused(target, refused);
  // A server's words may be in it.
  const message = printable(error instanceof Error ? error.message : String(error));
  const level = levelOf(error);
  if (level === 'client-authentication') {
    return new PluginError(
      'Auth',
      `${where} refused the login (${message}); check the user and the key or password`,
      { cause: error, ...remedyFor(target, 'correct the user, key or password', 'login') },
    );
  }
  if (level === 'handshake' && /no matching/i.test(message)) {
    return new PluginError(
      'Invalid',
      `${where} offers no algorithm that is accepted here (${message}); see docs/guides/ssh.md`,
      { cause: error },
    );
  }
  if (level === 'client-timeout' || level === 'protocol') {
    return new PluginError('Retryable', `${where} does not answer as an SSH server yet (${message})`, {
      cause: error,
      ...remedyFor(target, noServerRemedy, 'host'),
    });
  }
  return cannotReach(target, error);
}

export function cannotReach(target: SshTarget, error: unknown): PluginError {
  if (error instanceof PluginError) return error;
  const message =
    levelOf(error) === 'client-timeout'
      ? 'nothing answers'
      : printable(error instanceof Error ? error.message : String(error));
  return new PluginError('Retryable', `cannot reach ${describeTarget(target)} (${message})`, {
    cause: error,
    ...remedyFor(target, noServerRemedy, 'host'),
  });
}

const noServerRemedy = 'switch the machine on, or correct the address and port';

/**
 * A jump host that did not connect us to the target. Reason 1 is SSH's word for a refusal by the server's own
 * rules.
 */
export function explainForward(jump: SshTarget, to: string, error: unknown): PluginError {
  const message = printable(error instanceof Error ? error.message : String(error));
  if (typeof error === 'object' && error !== null && 'reason' in error && error.reason === 1) {
    return new PluginError(
      'Invalid',
      `jump host ${describeTarget(jump)} forwards nothing to ${to} (${message}); its sshd needs AllowTcpForwarding, and PermitOpen for that address`,
      { cause: error, ...remedyFor(jump, `allow forwarding to ${to} in the sshd`, 'host') },
    );
  }
  return new PluginError('Retryable', `jump host ${describeTarget(jump)} does not reach ${to} (${message})`, {
    cause: error,
    ...remedyFor(jump, `switch on the machine at ${to}, correct its address, or correct the network`, 'host'),
  });
}

/** For a lost connection; work on the node continues. */
export function connectionLost(target: SshTarget, cause?: unknown): PluginError {
  const why = cause instanceof Error ? ` (${printable(cause.message)})` : '';
  return new PluginError('Retryable', `the connection to ${describeTarget(target)} was lost${why}`, {
    cause,
  });
}

function hostKeyRefused(target: SshTarget, refused: Buffer): PluginError {
  const expected = hostKeysOf(target).map((line) => {
    const key = parseHostKey(line);
    return key === undefined ? 'an unreadable key' : fingerprint(key);
  });
  return new PluginError(
    'Invalid',
    `${describeTarget(target)} shows host key ${fingerprint(refused)}, expected ${expected.join(' or ') || 'a known one, but none is known'}: ` +
      'possible man in the middle, or an address that now belongs to another machine. Nothing was sent to it.',
    remedyFor(target, 'if the new host key is genuine, correct `hostKey`', 'host'),
  );
}

function levelOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'level' in error ? error.level : undefined;
}
