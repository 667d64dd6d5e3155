import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pinReference } from '../../model/artifact/state.js';
import { readArchive } from '../../store/archive/read-archive.js';
import { unpackInto } from '../../store/archive/unpack.js';
import { CliError } from '../errors.js';
import type { ServerOptions } from '../configuration.js';
import { verb } from '../verb.js';
import { recordOf } from './list.js';

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
    if (existsSync(path))
      throw new CliError('Refused', `${path} is there already; name a place that is free`);
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
