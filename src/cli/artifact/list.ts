import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Catalogue, pinReference } from '../../model/artifact/state.js';
import type { ResourceRecord, ResourceVersion } from '../../schema/output/resource.js';
import { readArchive } from '../../store/archive/read-archive.js';
import { unpackInto } from '../../store/archive/unpack.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { verb } from '../verb.js';

/** The resources, or the versions of one. */
export async function list(name: string | undefined, options: ServerOptions): Promise<number> {
  return name === undefined ? listAll(options) : listVersions(name, options);
}

const listAll = verb(({ client }, _options: ServerOptions) => client.resources.catalogue(), {
  worker: true,
  document: (catalogue) => ({
    resources: Object.entries(catalogue).map(([name, record]) => ({ name, ...record })),
  }),
  table: {
    head: ['NAME', 'SET', 'VERSIONS', 'FORMAT', 'BYTES', 'DIGEST'],
    rows: (catalogue) =>
      Object.entries(catalogue)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, { versions, set }]) => {
          const current = versions.find(({ version }) => version === set);
          const { version = '-', format = '-', bytes = '-', digest = '-' } = current ?? {};
          return [name, version, versions.length, format, bytes, digest].map(String);
        }),
    empty: "no resources; run 'heddle resource put NAME PATH' to add one",
  },
});

const listVersions = verb(
  async ({ client }, name: string, _options: ServerOptions) =>
    recordOf(await client.resources.catalogue(), name),
  {
    worker: true,
    document: (record, name) => ({ name, ...record }),
    print: (output, record) =>
      output.table(
        ['', 'VERSION', 'FORMAT', 'BYTES', 'PUT', 'BY', 'DIGEST'],
        record.versions.map((one) => {
          const { version, format, bytes, at, by, digest } = one;
          return [markOf(record, one), String(version), format, String(bytes), at, by, digest];
        }),
      ),
  },
);

/** @throws CliError NotFound */
export function recordOf(catalogue: Catalogue, name: string): ResourceRecord {
  const record = Object.hasOwn(catalogue, name) ? catalogue[name] : undefined;
  if (record !== undefined) return record;
  throw new CliError('NotFound', `resource ${name} does not exist`, { next: 'heddle resource list' });
}

function markOf({ set, before }: ResourceRecord, { version }: ResourceVersion): string {
  if (version === set) return 'set';
  return version === before.at(-1) ? 'before' : '';
}

/** Writes the content of a version to a new file or folder. */
export const get = verb(
  async (
    { client: { resources } },
    name: string,
    path: string,
    { version }: ServerOptions & { readonly version?: number },
  ) => {
    const catalogue = await resources.catalogue();
    recordOf(catalogue, name);
    const pinned = pinReference(catalogue, { resource: name, version });
    if (pinned === undefined)
      throw new CliError('NotFound', `resource ${name} has no version ${version ?? 'that is set'}`, {
        next: `heddle resource list ${name}`,
      });
    if (existsSync(path)) throw new CliError('Refused', `${path} already exists; choose another path`);
    const bytes = await resources.read(pinned.digest);
    await mkdir(dirname(resolve(path)), { recursive: true });
    if (pinned.format === 'file') await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
    else await unpackInto(path, await readArchive(bytes));
    return { path, ...pinned };
  },
  {
    worker: true,
    print: (output, { path, version }, name) => output.line(`${path}: version ${version} of ${name}`),
  },
);
