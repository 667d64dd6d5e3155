import pLimit from 'p-limit';
import { ownerWorkflowId, readMachineKey } from '../../model/names.js';
import type { NamedMachine, Ownership } from '../../model/node/ownership.js';
import type { ClusterRecords, LivingCluster } from './cluster-records.js';

/** A machine of this installation; `cluster` if its tags name one. */
export interface OwnMachine extends NamedMachine {
  readonly cluster?: string;
  /** RFC 3339, by the provider's clock. */
  readonly createdAt?: string;
}

/**
 * Ownership of a machine. `askedOf`: the workflow that answered; `orphan`: no workflow can own
 * it; `cut`: its owner was terminated or failed. `unknown`: this database has no record that it
 * was made. `unclear`: workflows that might own it did not answer.
 */
export type Owner =
  | { readonly is: 'mine'; readonly providerid?: string }
  | { readonly is: 'free'; readonly askedOf: string }
  /** No workflow is asked before it is deleted if its cluster has ended. */
  | { readonly is: 'abandoned'; readonly askedOf?: string }
  | { readonly is: 'orphan'; readonly cut?: true }
  | { readonly is: 'unknown'; readonly askedOf?: string }
  | { readonly is: 'unsure' }
  | { readonly is: 'unclear'; readonly why: string };

/** Machines that one question names: a query stays small. */
const perQuestion = 200;

/** Workflows that are asked together. */
const atOnce = 8;

/** Finds the owner of each machine, in their order. Each cluster is asked once for all of its machines. */
export async function findOwners(
  clusters: ClusterRecords,
  machines: readonly OwnMachine[],
): Promise<readonly Owner[]> {
  const names = [...new Set(machines.flatMap(({ cluster }) => cluster ?? []))];
  const untagged = machines.filter(({ cluster }) => cluster === undefined);
  const named = await pLimit(atOnce).map(names, async (name) =>
    ownersOfNamed(
      clusters,
      name,
      machines.filter(({ cluster }) => cluster === name),
    ),
  );
  const owners = new Map<OwnMachine, Owner>([
    ...named.flat(),
    ...(await ownersOfUntagged(clusters, untagged)),
  ]);
  return machines.map((machine) => owners.get(machine) ?? { is: 'unclear', why: 'no workflow was asked' });
}

type Owned = readonly [OwnMachine, Owner];

/**
 * The tags of a machine do not prove that this database knows it: it may have been restored
 * from a backup that is older than the machine. The uid of a run that the server has is one.
 */
async function ownersOfNamed(
  clusters: ClusterRecords,
  name: string,
  machines: readonly OwnMachine[],
): Promise<readonly Owned[]> {
  const { uid, owned } = await ownersInCluster(clusters, name, machines);
  const isClaimed = ([machine, { is }]: Owned): boolean =>
    (is !== 'free' && is !== 'orphan') || uidOf(machine) === uid;
  if (owned.every(isClaimed)) return owned;
  try {
    const uids = await clusters.uids(name);
    return owned.map((one): Owned => {
      const [machine, owner] = one;
      if (isClaimed(one) || uids.includes(uidOf(machine))) return one;
      return [machine, { is: 'unknown', ...('askedOf' in owner ? { askedOf: owner.askedOf } : {}) }];
    });
  } catch (error) {
    return unclear(machines, `the runs of cluster ${name} could not be read`, error);
  }
}

function uidOf({ key }: OwnMachine): string {
  return readMachineKey(key)?.clusterUid ?? '';
}

function unclear(machines: readonly OwnMachine[], what: string, error: unknown): readonly Owned[] {
  const why = `${what}: ${deepestMessage(error)}`;
  return machines.map((machine) => [machine, { is: 'unclear', why }]);
}

/** The SDK's own messages say no reason. */
function deepestMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? deepestMessage(error.cause) : error.message;
}

async function ownersInCluster(
  clusters: ClusterRecords,
  name: string,
  machines: readonly OwnMachine[],
): Promise<{ readonly uid?: string; readonly owned: readonly Owned[] }> {
  try {
    const { status, uid } = await clusters.record(name);
    if (status === 'living') return { uid, owned: await ask(clusters, ownerWorkflowId(name), machines) };
    const owner: Owner = { is: 'orphan', ...(status === 'cut' ? { cut: true as const } : {}) };
    // Its last run still knows which machines a person gave up.
    const own = machines.filter((machine) => status === 'ended' && uidOf(machine) === uid);
    const answers = new Map(await ask(clusters, ownerWorkflowId(name), own));
    return {
      uid,
      owned: machines.map((machine) => [
        machine,
        answers.get(machine)?.is === 'abandoned' ? { is: 'abandoned' } : owner,
      ]),
    };
  } catch (error) {
    return { owned: unclear(machines, `the machines of cluster ${name} could not be read`, error) };
  }
}

async function ask(
  clusters: ClusterRecords,
  workflowId: string,
  machines: readonly OwnMachine[],
): Promise<readonly Owned[]> {
  const answers: Owned[] = [];
  const resetAt = once(() => clusters.resetAt(workflowId));
  const elsewhere = new Map<string, OwnMachine[]>();
  const abandoned = new Set<OwnMachine>();
  for (let at = 0; at < machines.length; at += perQuestion) {
    const asked = machines.slice(at, at + perQuestion);
    const said = await clusters.owners(
      workflowId,
      asked.map(({ key, providerid }) => ({ key, providerid })),
    );
    for (const [index, machine] of asked.entries()) {
      const ownership = said[index];
      if (ownership === undefined)
        throw new Error(`${workflowId} answered for ${said.length} of ${asked.length} machines`);
      if (ownership.is === 'elsewhere' && ownership.abandoned === true) abandoned.add(machine);
      if (ownership.is === 'elsewhere')
        elsewhere.set(ownership.workflowId, [...(elsewhere.get(ownership.workflowId) ?? []), machine]);
      else answers.push([machine, await knownOwner(ownerOf(workflowId, ownership), machine, resetAt)]);
    }
  }
  // A group knows no others, so this ends.
  for (const [group, others] of elsewhere) {
    const said = await ask(clusters, group, others);
    answers.push(
      ...said.map(([machine, owner]): Owned => [
        machine,
        owner.is === 'free' && abandoned.has(machine) ? { ...owner, is: 'abandoned' } : owner,
      ]),
    );
  }
  return answers;
}

/** How far the clocks of providers may be behind, in ms. */
const skewMs = 10 * 60_000;

/**
 * After a reset, a workflow has no record of machines that the cut-off run made, and they may be in service.
 */
async function knownOwner(
  owner: Owner,
  { createdAt }: OwnMachine,
  resetAt: () => Promise<number | undefined>,
): Promise<Owner> {
  if (owner.is !== 'free') return owner;
  const at = await resetAt();
  const isLater = at === undefined || (createdAt !== undefined && Date.parse(createdAt) > at + skewMs);
  return isLater ? owner : { is: 'unknown', askedOf: owner.askedOf };
}

function once<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => (value ??= work());
}

function ownerOf(askedOf: string, ownership: Exclude<Ownership, { readonly is: 'elsewhere' }>): Owner {
  if (ownership.is === 'unmade') return { is: 'unknown', askedOf };
  return ownership.is === 'free' || ownership.is === 'abandoned' ? { is: ownership.is, askedOf } : ownership;
}

/**
 * For a machine without tags only the uid in its key is known. A cluster with another uid may have adopted
 * it. That this database made it is certain: its claim is in it.
 */
async function ownersOfUntagged(
  clusters: ClusterRecords,
  machines: readonly OwnMachine[],
): Promise<readonly Owned[]> {
  if (machines.length === 0) return [];
  try {
    const living = await clusters.living();
    return await Promise.all(machines.map(async (machine) => ownerAmong(clusters, living, machine)));
  } catch (error) {
    return unclear(machines, 'the list of running clusters could not be read', error);
  }
}

async function ownerAmong(
  clusters: ClusterRecords,
  living: readonly LivingCluster[],
  machine: OwnMachine,
): Promise<Owned> {
  const uid = readMachineKey(machine.key)?.clusterUid;
  const own = living.filter((cluster) => cluster.uid === uid);
  const asked = own.length > 0 ? own : living;
  const answers = await pLimit(atOnce).map(
    asked,
    async ({ name }) => (await ownersInCluster(clusters, name, [machine])).owned[0]?.[1],
  );
  const claims = answers.flatMap((answer) => (answer === undefined ? [] : [answer]));
  const decisive =
    claims.find(({ is }) => is === 'mine') ??
    claims.find(({ is }) => is === 'unclear') ??
    claims.find(({ is }) => is === 'unsure');
  if (decisive !== undefined) return [machine, decisive];
  // A stranger's word that a machine is not its own says nothing of whose it is.
  return [machine, own.length > 0 ? (claims[0] ?? { is: 'orphan' }) : { is: 'orphan' }];
}
