// How long it takes to plan large clusters, and how large the plans are.
// Usage: npm run build && node bench/plan.mjs [NODES]
import { createHash } from 'node:crypto';
import { planOperation } from '../dist/model/plan/plan-operation.js';
import { emptyCluster } from '../dist/model/plan/facts/current.js';
import { outlinesOf } from '../dist/model/plan/order/dependencies.js';
import { taskCount } from '../dist/model/plan/plan.js';
import { indexesOf } from '../dist/model/plan/ranges.js';

/**
 * @import { ClusterSpec } from '../dist/model/cluster/spec.js'
 * @import { Intent } from '../dist/model/plan/intent/intent.js'
 * @import { CurrentCluster, NodeSummary } from '../dist/model/plan/facts/current.js'
 */

const count = Number(process.argv[2] ?? 10_000);
const names = ['base', 'store', 'queue', 'app', 'proxy', 'metrics'];
/** @type {(script: string) => { type: string, fields: { script: string } }} */
const action = (script) => ({ type: 'shell', fields: { script } });
const actions = Object.fromEntries(
  ['install', 'configure', 'initialize', 'start', 'stop', 'remove'].map((key) => [key, action(key)]),
);
/** @type {(value: unknown) => string} */
const digest = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
const placement = {
  provider: 'local',
  type: 'local',
  site: 'default',
  flavor: 'small',
  image: 'host',
  fields: {},
  digest: 'machine',
};

const one = specOf(1);
const hundred = specOf(100);
/** @type {Intent & { kind: 'restart' }} */
const restart = { kind: 'restart', services: ['store'] };
const changed = {
  ...one,
  services: {
    ...one.services,
    app: { ...one.services.app, actions: { ...actions, install: action('another') } },
  },
};

measure('create, 1 group', { kind: 'apply' }, one, emptyCluster);
measure('create, 100 groups', { kind: 'apply' }, hundred, emptyCluster);
measure('restart, 1 group', restart, one, standing(one));
measure('restart, 100 groups', restart, hundred, standing(hundred));
measure('rolling restart, 100 groups', { ...restart, width: 10 }, hundred, standing(hundred));
measure('rolling change, 1 group', { kind: 'apply', width: 10 }, changed, standing(one));
measure(
  'rolling replacement, 100 groups',
  { kind: 'apply', width: 10 },
  hundred,
  standing(hundred, { toReplace: true }),
);
measure('change, every node with facts of its own', { kind: 'apply' }, changed, scattered(one));

/**
 * @param {string} title
 * @param {Intent} intent
 * @param {ClusterSpec} spec
 * @param {CurrentCluster} current
 */
function measure(title, intent, spec, current) {
  const placements = Object.fromEntries(Object.keys(spec.nodes).map((name) => [name, [placement]]));
  const began = performance.now();
  const plan = planOperation({
    intent,
    spec,
    current,
    placements,
    digest,
    bootstrapDigest: () => 'bootstrap',
  });
  const ms = performance.now() - began;
  const { kinds, gates } = plan;
  console.log(
    `${title}: ${ms.toFixed(0)} ms, ${kinds.length} kinds, ${taskCount(plan)} tasks, ${Math.ceil(JSON.stringify({ kinds, gates }).length / 1024)} KiB`,
  );
}

/**
 * @param {number} groups
 * @returns {ClusterSpec}
 */
function specOf(groups) {
  /** @type {ClusterSpec['services']} */
  const services = Object.fromEntries(
    names.map((name, place) => {
      const needs = { requires: names.slice(Math.max(0, place - 1), place), uses: [] };
      return [
        name,
        {
          provides: [],
          conflicts: [],
          install: needs,
          runtime: needs,
          peers: 'all',
          onPeersChange: 'configure',
          actions,
        },
      ];
    }),
  );
  const group = {
    count: Math.ceil(count / groups),
    provider: 'local',
    hardware: 'small',
    image: 'host',
    services: names,
    fields: {},
  };
  /** @type {ClusterSpec['repair']} */
  const repair = {
    gone: 'replace',
    stopped: 'nothing',
    unreachable: 'nothing',
    rebooted: 'start',
    moved: 'confirm',
  };
  return {
    name: 'bench',
    config: {},
    nodes: Object.fromEntries(Array.from({ length: groups }, (_, place) => [`g${place}`, group])),
    services,
    onFailure: 'hold',
    repair,
  };
}

/**
 * A cluster on which the spec was carried out.
 * @param {ClusterSpec} spec
 * @param {Partial<NodeSummary['facts']>} [more]
 * @returns {CurrentCluster}
 */
function standing(spec, more = {}) {
  const { kinds } = planOperation({
    intent: { kind: 'apply' },
    spec,
    current: emptyCluster,
    digest,
    bootstrapDigest: () => 'bootstrap',
    placements: Object.fromEntries(Object.keys(spec.nodes).map((name) => [name, [placement]])),
  });
  const nodes = kinds.map(({ group, nodes: ranges, chain }) => {
    /** @type {Record<string, Record<string, string | undefined>>} */
    const services = {};
    for (const { service, action: name, digest: of } of chain)
      if (service !== undefined) (services[service] ??= {})[name] = of;
    /** @type {NodeSummary['facts']} */
    const facts = { machine: 'machine', CREATE: true, CONFIRM: true, BOOTSTRAP: 'bootstrap', services };
    return { group, nodes: ranges, facts: { ...facts, ...more } };
  });
  return { nodes, services: outlinesOf(spec.services) };
}

/**
 * The worst case: no two nodes are alike.
 * @param {ClusterSpec} spec
 * @returns {CurrentCluster}
 */
function scattered(spec) {
  const { nodes, services } = standing(spec);
  return {
    services,
    nodes: nodes.flatMap(({ group, nodes: ranges, facts }) =>
      indexesOf(ranges).map((index) => ({
        group,
        nodes: [[index, index]],
        facts: {
          ...facts,
          services: { ...facts.services, base: { ...facts.services.base, INSTALL: `old ${index}` } },
        },
      })),
    ),
  };
}
