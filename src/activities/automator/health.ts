import { type Found, askHttp, openTcp, type Connect } from './health-probes.js';
import { setTimeout as wait } from 'node:timers/promises';
import { anySignal } from '../../model/signals.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import { milliseconds } from '../../model/milliseconds.js';
import { describeProbe, probeOf, type HealthCheck } from '../../model/node/health.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import type { Shell } from '../../plugins/contract.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts, NodeAddress } from '../parts.js';

export interface Checked {
  readonly address: NodeAddress;
  /** The node's own address, as its peers have it. */
  readonly ipaddress: string;
  readonly shell: Pick<Shell, 'exec'>;
}

/**
 * Looks until the service is well: START is done then.
 * @throws PluginError ScriptFailed when it is not within the time that the check gives it.
 */
export async function awaitHealth(
  parts: ActivityParts,
  request: TaskRequest,
  checked: Checked,
  attempt: Attempt,
): Promise<void> {
  const { check, service } = request;
  if (check === undefined || service === undefined) return;
  const what = `check of ${service.name}: ${describeProbe(probeOf(check))}`;
  const stop = anySignal([attempt.signal, attempt.detach]);
  const end = performance.now() + milliseconds(check.within);
  let said = '';
  for (let tries = 1; ; tries += 1) {
    attempt.at(`waits for the ${what}`);
    const found = await probeOnce(parts, check, checked, stop);
    if (found.well) return attempt.log.info(`${what}: passed`, { tries });
    if (found.why !== said) attempt.log.info(`${what}: not yet, ${found.why}`);
    said = found.why;
    if (performance.now() + milliseconds(check.every) > end) {
      throw new PluginError(
        'ScriptFailed',
        `its action succeeded, but the ${what} did not pass within ${check.within} s: ${said}`,
      );
    }
    await wait(milliseconds(check.every), undefined, { signal: stop });
  }
}

/** Runs a check once. Throws only when the attempt is over; every other error is a failed check. */
export async function probeOnce(
  parts: Pick<ActivityParts, 'nodes'>,
  check: HealthCheck,
  checked: Checked,
  stop: AbortSignal,
): Promise<Found> {
  const probe = probeOf(check);
  const timeoutMs = milliseconds(check.timeout);
  const late = AbortSignal.timeout(timeoutMs);
  const signal = anySignal([stop, late]);
  const connect: Connect = async (host, port) => {
    const stream = await parts.nodes
      .connect(checked.address, { host, port }, signal)
      .catch((cause: unknown) => {
        if (isPluginError(cause) && cause.kind === 'Invalid')
          throw new Error(
            `the node's SSH server does not forward connections to ${host}:${port}; set AllowTcpForwarding, or use a command as the check`,
            { cause },
          );
        throw new Error(`${host}:${port} does not accept connections`, { cause });
      });
    // The caller has stopped waiting.
    if (signal.aborted) stream.on('error', () => undefined).destroy();
    return stream;
  };
  const runProbe = (): Promise<Found> => {
    switch (probe.kind) {
      case 'command':
        return runCommand(checked.shell, probe, timeoutMs);
      case 'tcp':
        return openTcp(connect, probe, checked.ipaddress);
      case 'http':
        return askHttp(connect, probe, checked.ipaddress, signal);
    }
  };
  try {
    return await untilAborted(runProbe(), signal);
  } catch (error) {
    stop.throwIfAborted();
    if (late.aborted) return { well: false, why: `no answer within ${check.timeout} s` };
    return { well: false, why: error instanceof Error ? error.message : String(error) };
  }
}

async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The text is a word of its own; what it prints last is the reason. */
async function runCommand(
  shell: Checked['shell'],
  { command, sudo }: { readonly command: string; readonly sudo: boolean },
  timeoutMs: number,
): Promise<Found> {
  const asRoot = 'if [ "$(id -u)" = 0 ]; then exec sh -c "$1"; else exec sudo -n sh -c "$1"; fi';
  const words = sudo ? ['sh', '-c', asRoot, 'sh', command] : ['sh', '-c', command];
  const { exitCode, stdout, stderr } = await shell.exec(words, { timeoutMs });
  if (exitCode === 0) return { well: true };
  const last = (stderr.trim() || stdout.trim()).split('\n').at(-1)?.slice(-300) ?? '';
  return { well: false, why: `exit code ${exitCode}${last === '' ? '' : `: ${last}`}` };
}
