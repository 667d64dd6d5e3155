import { stringify } from 'yaml';
import { missingRevisionText } from '../../model/cluster/revision.js';
import { withCounts } from '../../model/cluster/scaled.js';
import { specChanges } from '../../model/cluster/spec-changes.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import type { ClusterStatus } from '../../schema/output/status.js';
import type { DiffDocument, GetDocument } from '../../schema/output/revision.js';
import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import type { Session } from '../session.js';
import { clusterVerb } from './cluster-verb.js';
import { printSpecChanges } from './plan/print-plan.js';
import { describeScaled } from './plan/plan-text.js';
import { withoutSecretValues } from './secret-values.js';

type GetOptions = ServerOptions & { readonly revision?: number };

/** Prints the file of a cluster as it was applied: normalised, with its files and templates inlined. */
export const get = clusterVerb<[options: GetOptions], GetDocument>(
  async ({ client }, cluster, { revision }) => {
    const { uid, revisions, scaled } = await client.summary(cluster);
    const newest = revisions[0]?.number;
    const number = revision ?? newest;
    if (number === undefined) throw noRevision(cluster);
    const spec = await client.revision(cluster, number);
    return {
      cluster,
      clusterUid: uid,
      revision: number,
      spec: withoutSecretValues(spec),
      ...(scaled === undefined || number !== newest ? {} : { scaled }),
    };
  },
  {
    print: (output, { cluster, revision, spec, scaled }) => {
      if (output.json) return;
      output.line(`# cluster ${cluster}, revision ${revision}`);
      for (const line of describeScaled(cluster, scaled)) output.line(`# ${line}`);
      output.raw(stringify(spec, { lineWidth: 0 }).trimEnd());
    },
  },
);

/** What differs between two revisions, or between one and the cluster as it should be now. */
export const diff = clusterVerb<
  [from: number | undefined, to: number | undefined, options: ServerOptions],
  DiffDocument
>(
  async ({ client }, cluster, first, second, _options) => {
    const status = await client.summary(cluster);
    const { uid, revisions } = status;
    const [newest, previous = newest] = revisions;
    const from = first ?? previous?.number;
    if (from === undefined) throw noRevision(cluster);
    const before = await client.revision(cluster, from);
    const after =
      second === undefined
        ? await presentSpec(client, cluster, status)
        : await client.revision(cluster, second);
    return {
      cluster,
      clusterUid: uid,
      from,
      ...(second === undefined ? {} : { to: second }),
      changes: specChanges(before, after),
    };
  },
  {
    print: (output, { cluster, from, to, changes }) => {
      if (output.json) return;
      const target = to === undefined ? 'now' : `revision ${to}`;
      if (changes.length === 0) {
        output.line(`cluster ${cluster}: no differences between revision ${from} and ${target}`);
        return;
      }
      output.line(`--- ${cleanLine(cluster)} revision ${from}`, 'bold');
      output.line(`+++ ${cleanLine(cluster)} ${target}`, 'bold');
      printSpecChanges(output, changes);
    },
  },
);

async function presentSpec(
  client: Session['client'],
  cluster: string,
  { scaled = {} }: ClusterStatus,
): Promise<ClusterSpec> {
  const spec = await client.spec(cluster);
  if (spec === null) throw noRevision(cluster);
  const counts = Object.entries(scaled).map(([group, { count }]) => [group, count] as const);
  return withCounts(spec, Object.fromEntries(counts));
}

/** Its first file was not accepted yet. */
function noRevision(cluster: string): CliError {
  return new CliError('NotFound', missingRevisionText(cluster, 1, []), { next: `heddle status ${cluster}` });
}
