import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { messageOf } from './errors.js';
import type { Inventory } from './inventory.js';
import type { Booted, Kind } from './kinds/kind.js';
import type { Logger } from 'pino';
import type { KindName, MachineRecord } from './machine.js';
import { TcpServer } from './ssh/server.js';

export interface PowerOptions {
  /** Time between CREATE and the machine's first process, in ms. */
  readonly bootDelayMs: number;
  /** How long a deleted machine is still seen, in ms. It dies at once. */
  readonly deleteDelayMs: number;
}

interface PowerCycle {
  readonly cut: AbortController;
  readonly over: Promise<void>;
}

const bootsAtOnce = 8;

/** Brings machines up and down. A machine's life, from boot to end, is one run of `#live`. */
export class Power {
  readonly #inventory: Inventory;
  readonly #kinds: ReadonlyMap<KindName, Kind>;
  readonly #options: PowerOptions;
  readonly #log: Logger;
  readonly #cycles = new Map<string, PowerCycle>();
  readonly #deletions = new Set<Promise<void>>();
  readonly #limitBoots = pLimit(bootsAtOnce);
  readonly #stopping = new AbortController();

  constructor(inventory: Inventory, kinds: ReadonlyMap<KindName, Kind>, options: PowerOptions, log: Logger) {
    this.#inventory = inventory;
    this.#kinds = kinds;
    this.#options = options;
    this.#log = log;
  }

  /** After a power cut: boots machines that were on, and finishes deletions. */
  restore(): void {
    for (const machine of this.#inventory.all()) {
      if (machine.state === 'deleting') this.destroy(machine.id);
      else if (machine.state !== 'stopped' && machine.state !== 'failed') this.turnOn(machine.id);
    }
  }

  console({ id, kind }: MachineRecord): string | undefined {
    return this.#kinds.get(kind)?.console?.(this.#inventory.folderOf(id));
  }

  turnOn(id: string): void {
    const before = this.#cycles.get(id);
    before?.cut.abort();
    const cut = new AbortController();
    const over = (before?.over ?? Promise.resolve()).then(() => this.#live(id, cut.signal));
    this.#cycles.set(id, { cut, over });
  }

  /** Pulls the plug: the machine has the state at once, its last process is gone soon after. */
  turnOff(id: string, state: 'stopped' | 'failed', reason?: string): void {
    this.#inventory.update(id, { state, reason });
    this.#cycles.get(id)?.cut.abort();
  }

  /** Resolves when none of the machine's processes is left; it must have been switched off. */
  async whenOff(id: string): Promise<void> {
    await this.#cycles.get(id)?.over;
  }

  destroy(id: string): void {
    this.#inventory.update(id, { state: 'deleting' });
    this.#cycles.get(id)?.cut.abort();
    const deletion = this.#destroy(id).finally(() => this.#deletions.delete(deletion));
    this.#deletions.add(deletion);
  }

  /** Cuts the power of all; their records stay as they are, so that they come up at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cycle of this.#cycles.values()) cycle.cut.abort();
    await Promise.all([...this.#cycles.values()].map((cycle) => cycle.over));
    await Promise.all(this.#deletions);
  }

  async #live(id: string, cut: AbortSignal): Promise<void> {
    let booted: Booted | undefined;
    if (cut.aborted) return;
    try {
      const machine = this.#inventory.update(id, { state: 'booting' });
      if (machine === undefined) return;
      await sleep(this.#options.bootDelayMs, undefined, { signal: cut });
      if (machine.faults.neverBoots) return await aborted(cut);
      booted = await this.#limitBoots(() => this.#boot(machine, cut));
      if (booted === undefined || cut.aborted) return;
      this.#inventory.update(id, { state: 'running', port: booted.port });
      const reason = await endOf(machine, booted, cut);
      if (cut.aborted) return;
      this.#log.info({ machine: id }, `machine ${id} died: ${reason}`);
      this.#inventory.update(id, { state: 'failed', reason });
    } catch (error) {
      if (cut.aborted) return;
      this.#log.warn({ machine: id }, `machine ${id} failed: ${messageOf(error)}`);
      this.#inventory.update(id, { state: 'failed', reason: messageOf(error) });
    } finally {
      await booted?.halt();
    }
  }

  async #boot(machine: MachineRecord, cut: AbortSignal): Promise<Booted | undefined> {
    if (cut.aborted) return undefined;
    if (machine.faults.noSsh) return bootWithoutSsh(machine);
    const kind = this.#kinds.get(machine.kind);
    if (kind === undefined)
      throw new Error(
        `This service cannot run a ${machine.kind} now: it was started without that kind, or the system does not allow it.`,
      );
    return kind.boot(machine, this.#inventory.folderOf(machine.id));
  }

  async #destroy(id: string): Promise<void> {
    const stopping = this.#stopping.signal;
    try {
      await sleep(this.#options.deleteDelayMs, undefined, { signal: stopping });
      await this.#cycles.get(id)?.over;
      this.#cycles.delete(id);
      while (!(await this.#removeFiles(id))) await sleep(1_000, undefined, { signal: stopping });
    } catch (error) {
      if (!stopping.aborted) throw error;
    }
  }

  /** False when something still holds them; the machine then shows why it is not gone yet. */
  async #removeFiles(id: string): Promise<boolean> {
    try {
      await this.#inventory.remove(id);
      return true;
    } catch (error) {
      this.#log.warn(
        { machine: id },
        `the files of machine ${id} could not be removed yet: ${messageOf(error)}`,
      );
      this.#inventory.update(id, { state: 'deleting', reason: messageOf(error) });
      return false;
    }
  }
}

/** Boots a machine whose SSH port accepts connections and never answers. */
async function bootWithoutSsh({ address, port }: MachineRecord): Promise<Booted> {
  const server = await TcpServer.listen(address, port, (socket) => socket.resume());
  return {
    port: server.port,
    died: new Promise(() => undefined),
    halt: () => Promise.resolve(server.close()),
  };
}

/** Why the machine ended: by itself, by script, or (with no meaning) because it was cut. */
function endOf(machine: MachineRecord, booted: Booted, cut: AbortSignal): Promise<string> {
  const ends = [booted.died, aborted(cut).then(() => 'cut')];
  const { diesAfterMs } = machine.faults;
  if (diesAfterMs !== undefined)
    ends.push(sleep(diesAfterMs, 'it died because of a scripted fault', { signal: cut }).catch(() => 'cut'));
  return Promise.race(ends);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
