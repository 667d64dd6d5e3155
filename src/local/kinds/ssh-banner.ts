import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until an SSH server greets. @throws Error when the machine ends first, or when the time is over. */
export async function waitForSshBanner(
  address: string,
  port: number,
  limitMs: number,
  ended: Promise<string>,
): Promise<void> {
  let reason: string | undefined;
  void ended.then((text) => {
    reason = text;
  });
  const deadline = Date.now() + limitMs;
  while (Date.now() < deadline) {
    if (await greets(address, port)) return;
    if (reason !== undefined) throw new Error(`The machine did not come up: ${reason}.`);
    await sleep(20);
  }
  throw new Error(`No SSH server answered at ${address}:${port} within ${limitMs} ms.`);
}

function greets(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: 1_000 });
    socket.once('data', (data) => end(data.toString('latin1').startsWith('SSH-')));
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => end(false));
    function end(outcome: boolean): void {
      socket.destroy();
      resolve(outcome);
    }
  });
}
