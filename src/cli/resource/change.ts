import type { PrunedVersion, ResourceRecord } from '../../model/artifact/state.js';
import { confirm } from '../confirm.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput, type Output } from '../output.js';
import { requireWorker, withSession } from '../session.js';
import { readContent } from './read-content.js';

/** Stores a file or a folder as a version of a resource. */
export async function put(
  name: string,
  path: string,
  options: ServerOptions & { readonly set?: boolean },
): Promise<number> {
  const output = createOutput(options);
  const content = await readContent(path);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const { resources } = session.client;
    const version = await resources.put(name, content);
    const record =
      options.set === true ? await resources.set(name, version.version) : (await resources.catalogue())[name];
    output.line(
      `resource ${name}: version ${version.version}, ${version.format} of ${version.bytes} bytes, ${version.digest}`,
    );
    if (record?.set === version.version) output.line('It is set: clusters take it with their next apply.');
    else
      output.line(
        `${record?.set === undefined ? 'None' : `Version ${record.set}`} is set. To change that:  heddle resource set ${name} ${version.version}`,
      );
    output.document({ name, ...version, set: record?.set ?? null });
    return exitCodes.ok;
  });
}

export async function set(name: string, version: number | null, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    return tell(output, name, await session.client.resources.set(name, version));
  });
}

export async function rollback(name: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    return tell(output, name, await session.client.resources.rollBack(name));
  });
}

/** Removes versions that nothing needs any more. */
export async function prune(
  options: ServerOptions & { readonly olderThan?: number; readonly dryRun?: boolean; readonly yes?: boolean },
): Promise<number> {
  const output = createOutput(options);
  return withSession(options, async (session) => {
    await requireWorker(session);
    const { versions, pruning } = await session.client.resources.prunable(options.olderThan);
    if (versions.length === 0) {
      output.line('There is nothing to remove.');
      output.document({ removed: [] });
      return exitCodes.ok;
    }
    if (options.dryRun === true) {
      for (const version of versions) output.line(`would remove ${describe(version)}`);
      output.document({ wouldRemove: versions });
      return exitCodes.ok;
    }
    await confirm(
      `Remove ${versions.length} version${versions.length === 1 ? '' : 's'}: ${versions.slice(0, 5).map(describe).join(', ')}${versions.length > 5 ? ', …' : ''}?`,
      options,
    );
    const removed = await session.client.resources.prune(pruning);
    for (const version of removed) output.line(`removed ${describe(version)}`);
    output.document({ removed });
    return exitCodes.ok;
  });
}

function tell(output: Output, name: string, record: ResourceRecord): number {
  output.line(
    record.set === undefined
      ? `resource ${name}: no version is set; clusters that use one keep it, and none can begin to`
      : `resource ${name}: version ${record.set} is set; clusters take it with their next apply`,
  );
  output.document({ name, set: record.set ?? null, before: record.before });
  return exitCodes.ok;
}

function describe({ name, version }: PrunedVersion): string {
  return `version ${version} of ${name}`;
}
