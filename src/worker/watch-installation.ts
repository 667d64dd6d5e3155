import type { Client } from '@temporalio/client';
import { readInstallation } from '../client/installation.js';

/** How often the namespace's UUID is read, in ms. */
const everyMs = 5_000;

export interface InstallationWatch {
  /** Resolves to the UUID of another installation, once the server has one under the namespace's name. */
  readonly replaced: Promise<string>;
  stop(): void;
}

/**
 * Watches for a server whose database was replaced. A worker of the earlier one would mark new machines as
 * its own, and the sweep of the new one would not find them. A server that does not answer has not changed.
 */
export function watchInstallation(temporal: Client, known: string): InstallationWatch {
  let timer: NodeJS.Timeout | undefined;
  const replaced = new Promise<string>((resolve) => {
    timer = setInterval(() => {
      temporal
        .withDeadline(Date.now() + everyMs, () => readInstallation(temporal))
        .then(
          (id) => {
            if (id !== known) resolve(id);
          },
          () => undefined,
        );
    }, everyMs);
    timer.unref();
  });
  return { replaced, stop: () => clearInterval(timer) };
}
