import type { Catalogue, ResourceRecord, ResourceVersion } from '../../model/artifact/state.js';
import { CliError } from '../errors.js';
import type { ServerOptions } from '../configuration.js';
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
    empty: "There are no resources. 'heddle resource put NAME PATH' adds one.",
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
  throw new CliError('NotFound', `there is no resource ${name}`, { next: 'heddle resource list' });
}

function markOf({ set, before }: ResourceRecord, { version }: ResourceVersion): string {
  if (version === set) return 'set';
  return version === before.at(-1) ? 'before' : '';
}
