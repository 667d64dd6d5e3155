import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  pinReference,
  type Catalogue,
  type ResourceRecord,
  type ResourceVersion,
} from '../../model/artifact/state.js';
import { readArchive } from '../../store/archive/read-archive.js';
import { unpackInto } from '../../store/archive/unpack.js';
import { CliError } from '../cli-error.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { requireWorker, withSession, type Session } from '../session.js';
import { formatTable } from '../table.js';

/** The resources, or the versions of one. */
export async function list(name: string | undefined, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    const catalogue = await readCatalogue(session);
    if (name === undefined) {
      const rows = Object.entries(catalogue)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, record]) => rowOf(key, record));
      if (rows.length === 0) output.line("There are no resources. 'heddle resource put NAME PATH' adds one.");
      else
        for (const line of formatTable(['NAME', 'SET', 'VERSIONS', 'FORMAT', 'BYTES', 'DIGEST'], rows))
          output.line(line);
      output.document({
        resources: Object.entries(catalogue).map(([key, record]) => ({ name: key, ...record })),
      });
      return exitCodes.ok;
    }
    const record = recordOf(catalogue, name);
    const rows = record.versions.map((version) => [
      markOf(record, version),
      String(version.version),
      version.format,
      String(version.bytes),
      version.at,
      version.by,
      version.digest,
    ]);
    for (const line of formatTable(['', 'VERSION', 'FORMAT', 'BYTES', 'PUT', 'BY', 'DIGEST'], rows))
      output.line(line);
    output.document({ name, ...record });
    return exitCodes.ok;
  });
}

/** Writes what a version holds: a file, or a folder that is not there yet. */
export async function get(
  name: string,
  path: string,
  options: ServerOptions & { readonly version?: number },
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    const catalogue = await readCatalogue(session);
    recordOf(catalogue, name);
    const pinned = pinReference(catalogue, { resource: name, version: options.version });
    if (pinned === undefined)
      throw new CliError('NotFound', `resource ${name} has no version ${options.version ?? 'that is set'}`, {
        next: `heddle resource list ${name}`,
      });
    if (
      await stat(path).then(
        () => true,
        () => false,
      )
    )
      throw new CliError('Refused', `${path} is there already; name a place that is free`);
    const bytes = await session.client.resources.read(pinned.digest);
    await mkdir(dirname(resolve(path)), { recursive: true });
    if (pinned.format === 'file') await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
    else await unpackInto(path, await readArchive(bytes));
    output.line(`${path}: version ${pinned.version} of ${name}`);
    output.document({ path, ...pinned });
    return exitCodes.ok;
  });
}

async function readCatalogue(session: Session): Promise<Catalogue> {
  await requireWorker(session);
  return session.client.resources.catalogue();
}

function recordOf(catalogue: Catalogue, name: string): ResourceRecord {
  const record = Object.hasOwn(catalogue, name) ? catalogue[name] : undefined;
  if (record === undefined)
    throw new CliError('NotFound', `there is no resource ${name}`, { next: 'heddle resource list' });
  return record;
}

function rowOf(name: string, { versions, set }: ResourceRecord): readonly string[] {
  const current = versions.find(({ version }) => version === set);
  return [
    name,
    current === undefined ? '-' : String(current.version),
    String(versions.length),
    current?.format ?? '-',
    current === undefined ? '-' : String(current.bytes),
    current?.digest ?? '-',
  ];
}

function markOf({ set, before }: ResourceRecord, { version }: ResourceVersion): string {
  if (version === set) return 'set';
  return version === before.at(-1) ? 'before' : '';
}
