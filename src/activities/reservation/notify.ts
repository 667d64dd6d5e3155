import { spawn } from 'node:child_process';
import { ApplicationFailure } from '@temporalio/common';
import { childEnvironment } from '../../config/child-environment.js';
import type { ReservationNotification } from '../../model/reservation/state.js';
import { refuseUntrusted } from '../../schema/named-files.js';
import type { ReservationParts } from './parts.js';

/** Longest time that a listener has, in ms. */
const patienceMs = 20_000;

/**
 * The activity NOTIFY: notifies the receivers that heddle.yaml names, and returns their number. Tried again,
 * a listener may receive it twice, with the same id.
 */
export async function notify(
  { settings, log }: Pick<ReservationParts, 'settings' | 'log'>,
  notification: ReservationNotification,
): Promise<{ readonly notified: number }> {
  const { url, command } = settings.reservations.notify ?? {};
  try {
    if (url !== undefined) await post(url, notification);
    if (command !== undefined) {
      refuseUntrusted('command', command);
      await run(command, notification);
    }
  } catch (error) {
    const why = `${notification.event} of reservation ${notification.reservation.id} was not delivered: ${error instanceof Error ? error.message : String(error)}`;
    log.warn({ notification: notification.id }, why);
    throw ApplicationFailure.retryable(why, 'Retryable');
  }
  return { notified: [url, command].filter((listener) => listener !== undefined).length };
}

async function post(url: string, notification: ReservationNotification): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': notification.id },
    body: JSON.stringify(notification),
    signal: AbortSignal.timeout(patienceMs),
    redirect: 'error',
  });
  // Nothing is read of it, but a body that is not taken keeps the connection.
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${new URL(url).host} answered ${response.status}`);
}

function run(
  [program = '', ...words]: readonly string[],
  notification: ReservationNotification,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: childEnvironment(),
      timeout: patienceMs,
      killSignal: 'SIGKILL',
    });
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      complaint = `${complaint}${chunk}`.slice(-500);
    });
    // A program may end without reading its input.
    child.stdin.on('error', () => undefined).end(`${JSON.stringify(notification)}\n`);
    child.on('error', reject).on('close', (code, signal) => {
      if (code === 0) resolve();
      else
        reject(
          new Error(
            `${program} ended with ${code ?? signal}${complaint === '' ? '' : `: ${complaint.trim()}`}`,
          ),
        );
    });
  });
}
