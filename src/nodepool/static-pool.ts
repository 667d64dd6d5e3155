import type { JsonObject } from '../model/json.js';
import { hostKeySchema } from '../schema/config-accounts.js';
import { warningAt, type Path, type Problem } from '../schema/problem.js';
import { leftOut, remarkUnread } from './remarks.js';
import type { Taking } from './taking.js';
import type { NodepoolMachine, NodepoolPool } from './written.js';

/** The default login user. */
const defaultUser = 'zuul';

/**
 * A provider pool of existing machines, with an account for them: one for each set of machines
 * with the same labels.
 */
export function importStaticPool(
  taking: Taking,
  pool: NodepoolPool,
  { name, priority, path }: { readonly name: string; readonly priority: number; readonly path: Path },
): readonly Problem[] {
  const remarks: Problem[] = [];
  const sets = new Map<
    string,
    {
      readonly labels: readonly string[];
      readonly machines: { readonly machine: JsonObject; readonly slots: number }[];
    }
  >();
  for (const [index, machine] of (pool.nodes ?? []).entries()) {
    const at = [...path, 'nodes', index];
    remarks.push(...remarkUnread('machine', machine, at), ...remarkMachine(machine, at));
    if (!isReachable(machine)) continue;
    const labels = machine.labels.filter((label) => taking.declares(label));
    for (const label of machine.labels)
      if (!taking.declares(label))
        remarks.push(
          warningAt(
            [...at, 'labels'],
            `names label ${label}, which is not declared, or is disabled, and is omitted there`,
          ),
        );
    if (labels.length === 0) continue;
    const key = labels.toSorted().join('\n');
    const set = sets.get(key) ?? { labels, machines: [] };
    set.machines.push({ machine: toMachine(machine), slots: slotsOf(machine) });
    sets.set(key, set);
  }
  for (const { labels, machines } of sets.values()) {
    const own = taking.providerPools.another(name);
    taking.accounts[own] = {
      type: 'static',
      fields: { machines: machines.map(({ machine }) => machine), liveness: 'ssh' },
    };
    taking.pools[own] = {
      provider: own,
      priority,
      limits: { nodes: machines.reduce((sum, { slots }) => sum + slots, 0) },
      checkEvery: '1m',
      keepUnwell: true,
      ...(pool['node-attributes'] == null ? {} : { attributes: pool['node-attributes'] as JsonObject }),
      labels: Object.fromEntries(labels.map((label) => [taking.serve(label), {}])),
    };
  }
  if (sets.size > 0)
    remarks.push(
      warningAt(
        path,
        'has no login settings, which are part of Zuul',
        'Set keyFile, agent, or a password for each machine in the accounts in heddle.yaml.',
      ),
    );
  return remarks;
}

function isReachable({ 'connection-type': type = 'ssh' }: NodepoolMachine): boolean {
  return type === 'ssh';
}

function slotsOf({ 'max-parallel-jobs': jobs = 1 }: NodepoolMachine): number {
  return Math.max(1, Math.round(jobs));
}

function remarkMachine(machine: NodepoolMachine, path: Path): readonly Problem[] {
  if (!isReachable(machine))
    return [
      warningAt(
        path,
        `is reached by ${machine['connection-type']} and is omitted`,
        'Nodes are reached by SSH.',
      ),
    ];
  const bad = (machine['host-key'] ?? []).filter((key) => !isHostKey(key));
  return [
    ...(machine['host-key-checking'] === false
      ? [
          leftOut(
            [...path, 'host-key-checking'],
            'Host keys are always checked: unknown keys are pinned on first contact.',
          ),
        ]
      : []),
    ...(bad.length === 0
      ? []
      : [
          warningAt(
            [...path, 'host-key'],
            'is not a valid host key and is omitted',
            'Write it as ssh-keyscan prints it, without the host: "ssh-ed25519 AAAA…".',
          ),
        ]),
  ];
}

function toMachine(machine: NodepoolMachine): JsonObject {
  const {
    name,
    username = defaultUser,
    'connection-port': port,
    'host-key': keys = [],
    'host-key-checking': checks = true,
  } = machine;
  const known = checks ? keys.filter((key) => isHostKey(key)) : [];
  const slots = slotsOf(machine);
  return {
    name: name
      .replaceAll(/[^A-Za-z0-9._-]/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 100),
    address: name,
    user: username,
    ...(port === undefined ? {} : { port }),
    ...(known.length === 0 ? {} : { hostKey: known.length === 1 ? (known[0] ?? '') : known }),
    ...(slots === 1 ? {} : { slots }),
  };
}

function isHostKey(text: string): boolean {
  return hostKeySchema.safeParse(text).success;
}
