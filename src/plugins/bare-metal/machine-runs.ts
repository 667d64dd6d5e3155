import { createHash } from 'node:crypto';
import { mkdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { endDetached, runDetached, type DetachedRun, type RunEnd } from '../../detached/detached-run.js';
import type { RunRecords } from '../contract.js';
import { isPluginError, PluginError, wrapError } from '../errors.js';
import { runFiles } from './imaging/imaging-order.js';

/** The owner of a run on a machine, encoded in the claim's key. */
interface Writer {
  readonly host: string;
  /** Folder of the host's records of the machine's runs. */
  readonly folder: string;
  readonly what: string;
  /** Identifies a run of the machine. */
  readonly run: string;
  /** The machine writes its own disk, in a rescue system that the program serves. */
  readonly rescue?: true;
}

/** A run of a machine; with `rescue` the machine is switched off after the program has ended. */
type MachineRun = Omit<DetachedRun, 'folder'> & Pick<Writer, 'rescue'>;

interface MachineRunsOptions {
  readonly records: RunRecords;
  readonly account: string;
  /** The machine in the account, and its name in Heddle. */
  readonly machine: string;
  readonly nodeId: string;
  /**
   * Switches the machine off; returns when it is verified to be off. @throws PluginError Retryable if that is
   * not certain.
   */
  readonly switchOff: () => Promise<void>;
}

/**
 * Programs that write or read the disk of a physical machine: one at a time across all worker hosts. A run is
 * claimed for its host before it starts. The claim is released when no process of the run is left and, if the
 * machine writes its own disk, the machine is off.
 */
export class MachineRuns {
  readonly #options: MachineRunsOptions;

  constructor(options: MachineRunsOptions) {
    this.#options = options;
  }

  /**
   * Starts the program, or attaches to the run of the same work and token. Another run is ended first.
   * @throws PluginError Retryable if another run may still be active; UnknownOutcome if the machine cannot be
   * switched off after the program.
   */
  async run(order: MachineRun): Promise<RunEnd> {
    const writer = await this.#claim(order);
    const end = await runDetached({ ...order, folder: writer.folder }).catch(async (error: unknown) => {
      if (order.detach?.aborted !== true) await this.end().catch(throwUnknown);
      throw error;
    });
    await this.#release(writer).catch(throwUnknown);
    return end;
  }

  /**
   * Ends the run of the machine, if there is one; returns when no process of it is left.
   * @throws PluginError Retryable if this host cannot verify that.
   */
  async end(): Promise<void> {
    const writer = await this.#writer();
    if (writer !== undefined) await this.#end(writer);
  }

  async #claim({ what, token, rescue }: MachineRun): Promise<Writer> {
    const { records, machine } = this.#options;
    const run = createHash('sha256').update(`${what}\n${token}`).digest('hex').slice(0, 32);
    const host = hostname();
    const current = await this.#writer();
    if (current?.run === run && current.host === host && (await isFolder(current.folder))) return current;
    if (current !== undefined) await this.#end(current);
    const writer: Writer = { host, folder: this.#folder(host), what, run, ...(rescue && { rescue }) };
    // The folder is created first: a claim without a folder means that its records were lost.
    await mkdir(writer.folder, { recursive: true, mode: 0o700 });
    if ((await records.claims.take(keyOf(writer), [machine])) === machine) return writer;
    throw new PluginError('Retryable', `another worker has just started a program on machine ${machine}`);
  }

  async #end(writer: Writer): Promise<void> {
    if (writer.host !== hostname() || !(await isFolder(writer.folder))) throw this.#unknown(writer);
    const directory = await endDetached(writer.folder);
    // A killed program leaves this file, which is as large as the disk.
    if (directory !== undefined) await rm(join(directory, runFiles.copy), { force: true });
    await this.#release(writer);
  }

  async #writer(): Promise<Writer | undefined> {
    const { records, machine } = this.#options;
    const key = (await records.claims.held())[machine];
    return key === undefined ? undefined : (JSON.parse(key) as Writer);
  }

  async #release(writer: Writer): Promise<void> {
    if (writer.rescue === true) await this.#options.switchOff();
    await this.#options.records.claims.release(keyOf(writer));
  }

  #folder(host: string): string {
    const { records, account, machine } = this.#options;
    const name = createHash('sha256').update(`${host}\n${account}\n${machine}`).digest('hex').slice(0, 32);
    return join(records.folder, name);
  }

  #unknown({ host, what, folder, rescue }: Writer): PluginError {
    const { machine, nodeId } = this.#options;
    const where =
      host === hostname()
        ? `its records in ${folder} are gone`
        : 'only a worker on that host can check: start one there';
    const off = rescue === true ? ', and the machine, which may write its disk itself, is off' : '';
    return new PluginError(
      'Retryable',
      `${what} was started on worker host ${host} and may still run; ${where}. Machine ${machine} is blocked until then. ` +
        `If it certainly does not run, such as after a restart of ${host}${off}, confirm it: heddle machine confirm-ended ${nodeId} --host ${host}`,
      { retryAfterMs: 5_000 },
    );
  }
}

/**
 * For failures after a machine may have written its disk: a rejected login then does not mean that nothing
 * was done.
 */
export function throwUnknown(error: unknown): never {
  if (!isPluginError(error) || error.kind === 'Retryable' || error.kind === 'NotReady') throw error;
  throw wrapError(error, error.message, 'UnknownOutcome');
}

function keyOf({ host, folder, what, run, rescue }: Writer): string {
  return JSON.stringify({ host, folder, what, run, ...(rescue && { rescue }) });
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
