import type { JsonObject } from '../model/json.js';
import { isPlainObject } from '../schema/plain-json.js';
import { warningAt, type Path, type Problem } from '../schema/problem.js';
import { labelOmitted, leftOut, remarkUnread } from './remarks.js';
import type { Taking } from './taking.js';
import type { NodepoolOffer, NodepoolPool, NodepoolProvider } from './written.js';

/** Nodepool's default, in seconds. */
const defaultGraceTime = 60;
const mostSlots = 1_000;

/** Settings of the driver without a counterpart: machines come from other providers. */
const ofMachines = ['boot-timeout', 'launch-retries', 'launch-timeout', 'rate', 'max-concurrency'] as const;

export function remarkMetastatic(provider: NodepoolProvider, path: Path): readonly Problem[] {
  return ofMachines
    .filter((key) => provider[key] !== undefined)
    .map((key) => leftOut([...path, key], 'The settings of the provider of the machines apply.'));
}

/**
 * Nodes that share machines: each provider pool that serves the backing label serves the label too,
 * with slots, so both count against the same limits. Call it after all other providers are imported.
 */
export function importMetastaticPool(taking: Taking, pool: NodepoolPool, path: Path): readonly Problem[] {
  const remarks: Problem[] = [...remarkPool(pool, path)];
  for (const [index, offer] of (pool.labels ?? []).entries()) {
    const at = [...path, 'labels', index];
    remarks.push(...remarkUnread('offer', offer, at, 'metastatic'));
    remarks.push(...importOffer(taking, offer, at));
  }
  return remarks;
}

function importOffer(taking: Taking, offer: NodepoolOffer, at: Path): readonly Problem[] {
  const { name, 'backing-label': backing = '' } = offer;
  if (!taking.declares(name)) return [labelOmitted(name, at)];
  const serving = Object.entries(taking.pools).flatMap(([providerPool, { provider, labels }]) => {
    const backed = isPlainObject(labels) ? labels[taking.nameOf(backing)] : undefined;
    return isPlainObject(backed) && typeof provider === 'string'
      ? [{ providerPool, provider, labels: labels as JsonObject, backed }]
      : [];
  });
  const remarks: Problem[] = [];
  for (const { providerPool, provider, labels, backed } of serving) {
    if (taking.accounts[provider]?.['type'] === 'static') {
      remarks.push(
        warningAt(
          [...at, 'backing-label'],
          `${backing} has existing machines, for which label ${name} is omitted`,
          `Set slots: ${slotsOf(offer)} for them in the account ${provider}, and add the label to its provider pool.`,
        ),
      );
      continue;
    }
    taking.pools[providerPool] = {
      ...taking.pools[providerPool],
      labels: { ...labels, [taking.serve(name)]: { ...backed, ...sharingOf(offer) } },
    };
  }
  return serving.length > 0
    ? [...remarks, ...remarkTimes(offer, at)]
    : [
        warningAt(
          [...at, 'backing-label'],
          `${backing === '' ? 'is missing' : `no imported provider serves ${backing}`}, so label ${name} is omitted here`,
          `Add a provider pool with slots: ${slotsOf(offer)} for it.`,
        ),
      ];
}

function slotsOf({ 'max-parallel-jobs': jobs = 1 }: NodepoolOffer): number {
  return Math.min(mostSlots, Math.max(1, Math.round(jobs)));
}

function sharingOf(offer: NodepoolOffer): JsonObject {
  const { 'grace-time': grace = defaultGraceTime, 'max-age': age = 0 } = offer;
  return {
    slots: slotsOf(offer),
    minRetention: Math.max(1, Math.round(grace)),
    ...(age > 0 ? { maxAge: Math.max(1, Math.round(age)) } : {}),
  };
}

function remarkTimes(offer: NodepoolOffer, at: Path): readonly Problem[] {
  const { 'min-retention-time': retention = 0, 'grace-time': grace = defaultGraceTime } = offer;
  return retention <= 0
    ? []
    : [
        leftOut(
          [...at, 'min-retention-time'],
          `A machine is kept for minRetention (${grace} s) after its last node; increase it if required.`,
        ),
      ];
}

function remarkPool(pool: NodepoolPool, path: Path): readonly Problem[] {
  const instead = {
    'max-servers':
      'Limits of provider pools count machines. Limit nodes with tenants, or machines with limits.',
    'max-cores': 'The limits of the provider pools of the machines apply.',
    'max-ram': 'The limits of the provider pools of the machines apply.',
    priority: 'The priority of the provider pools of the machines applies.',
    'node-attributes': 'Nodes have the attributes of the provider pools of their machines; add them there.',
  } as const;
  return (Object.keys(instead) as (keyof typeof instead)[])
    .filter((key) => pool[key] != null)
    .map((key) => leftOut([...path, key], instead[key]));
}
