import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface KnownMachine {
  readonly id: string;
  readonly hostname: string;
  readonly cluster: string;
  readonly state: string;
  /** Services that run there, by the marks that their scripts leave. */
  readonly running: readonly string[];
}

export interface Creation {
  readonly key: string;
  readonly id: string;
}

/** What the machine service has on disk: its API would meet the scripted faults, too. */
export interface MachinesOnDisk {
  list(): Promise<readonly KnownMachine[]>;
  /** Every machine that was ever made. */
  creations(): Promise<readonly Creation[]>;
  /** Grows with every call that the service accepts. */
  calls(): Promise<number>;
}

export function readMachines(stackFolder: string): MachinesOnDisk {
  const data = join(stackFolder, 'machines');
  const journal = async (): Promise<readonly JournalLine[]> =>
    (await readFile(join(data, 'journal.jsonl'), 'utf8'))
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as JournalLine);
  return {
    async list() {
      const ids = await readdir(join(data, 'machines'));
      return (await Promise.all(ids.map((id) => readMachine(join(data, 'machines', id))))).filter(
        (machine) => machine !== undefined,
      );
    },
    creations: async () =>
      (await journal()).flatMap(({ operation, repeated, key, id }) =>
        operation === 'create' && repeated !== true && key !== undefined && id !== undefined
          ? [{ key, id }]
          : [],
      ),
    calls: async () => (await stat(join(data, 'journal.jsonl'))).size,
  };
}

interface JournalLine {
  readonly operation: string;
  readonly key?: string;
  readonly id?: string;
  readonly repeated?: true;
}

interface MachineFile {
  readonly id: string;
  readonly hostname: string;
  readonly state: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** The mark that a service's START leaves in the home, and STOP takes away. */
export function markOf(service: string): string {
  return `runs-${service}`;
}

async function readMachine(folder: string): Promise<KnownMachine | undefined> {
  try {
    const { id, hostname, state, tags } = JSON.parse(
      await readFile(join(folder, 'machine.json'), 'utf8'),
    ) as MachineFile;
    const home = join(folder, 'disk');
    const running = (existsSync(home) ? await readdir(home) : []).flatMap((name) =>
      name.startsWith(markOf('')) ? [name.slice(markOf('').length)] : [],
    );
    return { id, hostname, state, running, cluster: tags['heddle-cluster'] ?? '' };
  } catch {
    // It is just being made, or removed.
    return undefined;
  }
}
