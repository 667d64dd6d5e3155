import type { Client } from '@temporalio/client';
import { call } from '../../client/call.js';
import { listWorkers } from '../../client/workers.js';
import { indexLabels, type Labels } from '../../model/cluster/labels.js';
import { operationsOf } from '../../model/cluster/operation.js';
import { siteQueue } from '../../model/names.js';
import type { Config } from '../../config/index.js';
import { buildLines } from '../../model/worker-identity.js';
import type { ListDocument } from '../../schema/output/documents.js';
import type { HistoryDocument } from '../../schema/output/operation.js';
import type { NextStep, NodesDocument } from '../../schema/output/status.js';
import type { ServerOptions } from '../configuration.js';
import { formatAge, formatCount } from '../format.js';
import type { Output } from '../output.js';
import { requireWorker } from '../session.js';
import { readQueue } from '../system/pollers.js';
import { isUnattended } from '../system/troubles.js';
import { verb } from '../verb.js';
import { clusterVerb } from './cluster-verb.js';
import { describeLatest } from './describe-cluster.js';
import { printHistory, printRevisions } from './history-text.js';
import {
  countWithoutReason,
  isProblem,
  type ListedCluster,
  problemsFirst,
  withReasons,
} from './list-problems.js';
import { printNext, printNodes } from './status-text.js';

type ListOptions = ServerOptions & { readonly label?: Labels };

/** The clusters in the server's index, problems first; without a worker, their reasons are absent. */
export const list = verb(
  async (session, { label }: ListOptions): Promise<ListDocument> => {
    const { client, temporal, config } = session;
    const [clusters, workers, unattended] = await Promise.all([
      client.list({ labels: label }),
      call(temporal, 'workers', () => listWorkers(temporal)).catch(() => undefined),
      call(temporal, 'sites', () => unattendedSites(temporal, config)).catch(() => undefined),
    ]);
    const sorted = problemsFirst(clusters);
    return {
      clusters: workers?.length === 0 ? sorted : await withReasons(session, sorted),
      workers,
      unattendedSites: unattended,
    };
  },
  {
    print: (output, { clusters, workers, unattendedSites: sites }) => {
      if (clusters.length === 0) output.lines('no clusters\nnext: heddle apply FILE');
      else printClusters(output, clusters);
      for (const line of troublesOf(workers, sites)) output.line(line);
      const [first] = clusters;
      if (first !== undefined && isProblem(first)) printNext(output, [stepFor(first)]);
    },
  },
);

function printClusters(output: Output, clusters: readonly ListedCluster[]): void {
  const now = Date.now();
  const rows = clusters.map(({ name, phase = '-', stuck, createdAt, labels = {}, reason = '' }) => [
    name,
    stuck === true ? `${phase}, stuck` : phase,
    formatAge(createdAt, now),
    indexLabels(labels).join(','),
    reason.split('\n')[0] ?? '',
  ]);
  output.table(['CLUSTER', 'PHASE', 'AGE', 'LABELS', 'REASON'], rows, {
    cut: true,
    styleOf: (row) => (clusters[row] !== undefined && isProblem(clusters[row]) ? 'red' : undefined),
  });
  const without = countWithoutReason(clusters);
  if (without > 0)
    output.line(`${formatCount(without, 'more problem')} without a reason here: heddle status CLUSTER`);
}

function stepFor({ name, stuck }: ListedCluster): NextStep {
  return stuck === true
    ? { command: `heddle recover ${name}`, why: 'no worker can continue it: its workflow tasks fail' }
    : { command: `heddle status ${name}`, why: 'its problem, and what to do' };
}

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
 * The operations and revisions that a cluster remembers, newest first, with operations that run and wait;
 * also of a cluster that was deleted, while the server keeps it.
 */
export const history = verb(
  async (session, name: string, _options: ServerOptions): Promise<HistoryDocument> => {
    await describeLatest(session, name);
    await requireWorker(session);
    const status = await session.client.status(name);
    const { uid, revisions } = status;
    return { cluster: name, clusterUid: uid, operations: operationsOf(status), revisions };
  },
  {
    print: (output, { operations, revisions }) => {
      printHistory(output, operations, Date.now());
      printRevisions(output, revisions);
    },
  },
);
