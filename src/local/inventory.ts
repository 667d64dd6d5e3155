import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFolder, readJsonFile, writeJsonFile } from './files.js';
import { machineSchema, type MachineRecord } from './machine.js';

/** All machines there are, each kept in a folder of its own: `machine.json` and its disk. */
export class Inventory {
  readonly folder: string;
  readonly #machines = new Map<string, MachineRecord>();
  readonly #idsByToken = new Map<string, string>();

  constructor(dataFolder: string) {
    this.folder = join(dataFolder, 'machines');
    makePrivateFolder(this.folder);
  }

  /** Reads what an earlier run left. A folder without a record was being removed; its removal is finished. */
  async load(): Promise<void> {
    for (const id of readdirSync(this.folder)) {
      const record = readJsonFile(this.#recordFile(id), machineSchema);
      if (record === undefined) await rm(this.folderOf(id), { recursive: true, force: true });
      else this.#keep(record);
    }
  }

  get(id: string): MachineRecord | undefined {
    return this.#machines.get(id);
  }

  withToken(token: string): MachineRecord | undefined {
    return this.#machines.get(this.#idsByToken.get(token) ?? '');
  }

  all(): readonly MachineRecord[] {
    return [...this.#machines.values()];
  }

  /** On return the machine is on disk. */
  add(record: MachineRecord): void {
    makePrivateFolder(this.folderOf(record.id));
    this.#write(record);
  }

  /** Changes a machine, unless it is gone by now. */
  update(id: string, changes: Partial<MachineRecord>): MachineRecord | undefined {
    const record = this.#machines.get(id);
    if (record === undefined) return undefined;
    const { reason: _, ...kept } = record;
    const changed = { ...kept, ...changes };
    this.#write(changed);
    return changed;
  }

  /** Removes its files, the record last, so that a cut removal is seen and finished at the next start. */
  async remove(id: string): Promise<void> {
    const record = this.#machines.get(id);
    if (record === undefined) return;
    for (const name of ['disk', 'disk.new'])
      await rm(join(this.folderOf(id), name), { recursive: true, force: true });
    await rm(this.folderOf(id), { recursive: true, force: true });
    this.#machines.delete(id);
    this.#idsByToken.delete(record.token);
  }

  folderOf(id: string): string {
    return join(this.folder, id);
  }

  #write(record: MachineRecord): void {
    writeJsonFile(this.#recordFile(record.id), record);
    this.#keep(record);
  }

  #keep(record: MachineRecord): void {
    this.#machines.set(record.id, record);
    this.#idsByToken.set(record.token, record.id);
  }

  #recordFile(id: string): string {
    return join(this.folderOf(id), 'machine.json');
  }
}
