import type { Client } from '@temporalio/client';
import type { HeddleClient } from '../../client/heddle-client.js';
import { listPools, listMachineNames } from '../../client/list.js';
import { readConfiguration } from '../configuration.js';
import { exitCodes } from '../errors.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { createProgram } from '../program.js';
import { candidatesFor, type Candidates } from './candidates.js';

/** A longer wait would make completion useless. */
const patienceMs = 5_000;

/** Tells the shell to complete names of files. */
export const filesMark = ':files';

/** Prints what may stand at the cursor, one per line; the last word is the one at the cursor. Never fails. */
export async function complete(words: readonly string[]): Promise<number> {
  const current = words.at(-1) ?? '';
  const candidates = candidatesFor(
    createProgram(async () => undefined),
    words.slice(0, -1),
    current,
  );
  const found = candidates.is === 'files' ? [filesMark] : await wordsOf(candidates);
  // What comes before belongs to the word: `--nodes=app-1,` and `app-1,`.
  const stem = /^(?:--[a-z-]+=)?(?:[^,]*,)*/.exec(current)?.[0] ?? '';
  for (const word of found)
    if (candidates.is === 'files' || `${stem}${word}`.startsWith(current))
      process.stdout.write(`${candidates.is === 'files' ? '' : stem}${word}\n`);
  // A pending query must not block the prompt.
  process.exit(exitCodes.ok);
}

async function wordsOf(
  candidates: Exclude<Candidates, { readonly is: 'files' }>,
): Promise<readonly string[]> {
  if (candidates.is === 'words') return candidates.words;
  const late = new Promise<readonly string[]>((resolve) => {
    setTimeout(() => resolve([]), patienceMs).unref();
  });
  return Promise.race([askNames(candidates).catch(() => []), late]);
}

async function askNames({
  of,
  within,
}: Extract<Candidates, { readonly is: 'names' }>): Promise<readonly string[]> {
  const { withSession } = await import('../session.js');
  // heddle.yaml has them: no server is needed.
  if (of === 'accounts') return Object.keys(readConfiguration({}).providers);
  return withSession({}, async ({ client, temporal }) => {
    switch (of) {
      case 'clusters':
        return (await client.list()).map(({ name }) => name);
      case 'pools':
        return (await listPools(temporal)).map(({ name }) => name);
      case 'labels':
        return labelsOf(temporal, within === undefined ? await listPools(temporal) : [{ name: within }]);
      case 'machines':
        return listMachineNames(temporal);
      case 'images':
        return (await client.images.list()).images.map(({ name }) => name);
      case 'reservations':
        return (await client.reservations.list()).map(({ id }) => id);
      case 'resources':
        return Object.keys(await client.resources.catalogue());
      case 'pool nodes':
        return within === undefined
          ? []
          : (await new PoolClient(temporal, within).nodes()).map(({ id }) => id);
      case 'nodes':
      case 'services':
        return within === undefined ? [] : namesIn(client, within, of);
    }
  });
}

async function labelsOf(
  temporal: Client,
  pools: readonly { readonly name: string }[],
): Promise<readonly string[]> {
  const views = await Promise.all(
    pools.map(({ name }) => new PoolClient(temporal, name).view().catch(() => ({ labels: {} }))),
  );
  return [...new Set(views.flatMap(({ labels }) => Object.keys(labels)))];
}

async function namesIn(
  client: HeddleClient,
  cluster: string,
  of: 'nodes' | 'services',
): Promise<readonly string[]> {
  const { nodes, services } = await client.status(cluster);
  return of === 'nodes' ? nodes.map(({ nodeId }) => nodeId) : Object.keys(services);
}
