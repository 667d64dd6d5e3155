import type { Client } from '@temporalio/client';
import { call } from '../../client/call.js';
import { listWorkers } from '../../client/workers.js';
import { indexLabels, type Labels } from '../../model/cluster/labels.js';
import { siteQueue } from '../../model/names.js';
import type { Config } from '../../config/index.js';
import { buildLines } from '../../model/worker-identity.js';
import type { ListDocument } from '../../schema/output/documents.js';
import type { HistoryDocument } from '../../schema/output/operation.js';
import type { NodesDocument } from '../../schema/output/status.js';
import type { ServerOptions } from '../configuration.js';
import { formatAge } from '../format.js';
import { requireWorker } from '../session.js';
import { readQueue } from '../system/pollers.js';
import { isUnattended } from '../system/troubles.js';
import { verb } from '../verb.js';
import { clusterVerb } from './cluster-verb.js';
import { describeLatest } from './describe-cluster.js';
import { printHistory } from './history-text.js';
import { printNext, printNodes } from './status-text.js';

type ListOptions = ServerOptions & { readonly label?: Labels };

/** The clusters in the server's index; no worker is needed. */
export const list = verb(
  async ({ client, temporal, config }, { label }: ListOptions): Promise<ListDocument> => ({
    clusters: await client.list({ labels: label }),
    workers: await call(temporal, 'workers', () => listWorkers(temporal)).catch(() => undefined),
    unattendedSites: await call(temporal, 'sites', () => unattendedSites(temporal, config)).catch(
      () => undefined,
    ),
  }),
  {
    table: {
      head: ['CLUSTER', 'PHASE', 'AGE', 'LABELS'],
      rows: ({ clusters }) =>
        clusters.map(({ name, phase = '-', stuck, createdAt, labels = {} }) => [
          name,
          stuck === true ? `${phase}, stuck` : phase,
          formatAge(createdAt, Date.now()),
          indexLabels(labels).join(','),
        ]),
      empty: 'no clusters\nnext: heddle apply FILE',
    },
    print: (output, { clusters, workers, unattendedSites: sites }) => {
      for (const line of troublesOf(workers, sites)) output.line(line);
      const stuck = clusters.filter((cluster) => cluster.stuck === true);
      if (stuck[0] !== undefined)
        printNext(output, [
          {
            command: `heddle recover ${stuck[0].name}`,
            why: 'no worker can continue it: its workflow tasks fail',
          },
        ]);
    },
  },
);

function troublesOf(
  workers: ListDocument['workers'],
  sites: ListDocument['unattendedSites'] = [],
): readonly string[] {
  if (workers?.length === 0)
    return ['', "no worker is running, so no cluster makes progress; start one with 'heddle worker'"];
  const idle = sites.map(
    (site) => `no worker of site ${site} is running, so its tasks wait; start one there with 'heddle worker'`,
  );
  const builds = buildLines(workers ?? []);
  return [
    ...(idle.length > 0 ? ['', ...idle] : []),
    ...(builds.length > 1 ? ['', 'workers run different builds:', ...builds] : []),
  ];
}

/** Of the sites that heddle.yaml names, those that no worker serves. */
async function unattendedSites(temporal: Client, { site, origins, providers }: Config): Promise<string[]> {
  const own = origins['site'] === 'default' ? [] : [site];
  const sites = new Set([...own, ...Object.values(providers).map((account) => account.site)]);
  const { connection, options } = temporal;
  const views = await Promise.all(
    [...sites]
      .toSorted()
      .map(async (name) => ({
        name,
        queue: await readQueue(connection, options.namespace, siteQueue(name), 'activities'),
      })),
  );
  return views.filter(({ queue }) => isUnattended(queue, Date.now())).map(({ name }) => name);
}

export const nodes = clusterVerb(async ({ client }, name, _options: ServerOptions) => client.status(name), {
  document: ({ nodes: found }, cluster): NodesDocument => ({ cluster, nodes: found }),
  print: (output, found) => printNodes(output, found, Date.now()),
});

/**
 * The operations that a cluster remembers, newest first, with those that run and wait; also of a cluster that
 * was deleted, while the server keeps it.
 */
export const history = verb(
  async (session, name: string, _options: ServerOptions): Promise<HistoryDocument> => {
    await describeLatest(session, name);
    await requireWorker(session);
    const { queued, operation, history: ended, uid } = await session.client.status(name);
    const known = [...queued, ...(operation === undefined ? [] : [operation]), ...ended];
    const operations = known.toSorted((one, other) => Number(other.id) - Number(one.id));
    return { cluster: name, clusterUid: uid, operations };
  },
  { print: (output, { operations }) => printHistory(output, operations, Date.now()) },
);
