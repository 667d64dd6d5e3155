import type { ServerOptions } from '../configuration.js';
import { verb } from '../verb.js';
import { readContent, type PackedContent } from './read-content.js';

interface PutOptions extends ServerOptions {
  readonly set?: boolean;
}

/** Stores a file or a folder as a version of a resource. */
export async function put(name: string, path: string, options: PutOptions): Promise<number> {
  return putContent(name, await readContent(path), options);
}

const putContent = verb(
  async ({ client: { resources } }, name: string, content: PackedContent, options: PutOptions) => {
    const version = await resources.put(name, content);
    const record =
      options.set === true ? await resources.set(name, version.version) : (await resources.catalogue())[name];
    return { name, ...version, set: record?.set ?? null };
  },
  {
    worker: true,
    print: (output, { name, version, format, bytes, digest, set }) => {
      output.line(`resource ${name}: version ${version}, ${format} of ${bytes} bytes, ${digest}`);
      output.line(
        set === version
          ? 'It is set: clusters take it with their next apply.'
          : `${set === null ? 'None' : `Version ${set}`} is set. To change that:  heddle resource set ${name} ${version}`,
      );
    },
  },
);
