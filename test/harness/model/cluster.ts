import type { Intent } from '../../../src/model/plan/intent/intent.js';
import type { Consent } from '../../../src/model/cluster/consent.js';
import type { Operation } from '../../../src/model/cluster/operation.js';
import { hostname, nodeId, operationKey } from '../../../src/model/names.js';
import type { NodeState } from '../../../src/model/node/state.js';
import { noPeers, touchPeers } from '../../../src/model/node/peers.js';
import { planOperation } from '../../../src/model/plan/plan-operation.js';
import type { Kind, Plan, Step } from '../../../src/model/plan/plan.js';
import { indexesOf } from '../../../src/model/plan/ranges.js';
import {
  recordBegun,
  recordDone,
  recordMachine,
  recordRemoval,
  withoutService,
} from '../../../src/model/node/record.js';
import { newGroup } from '../../../src/model/cluster/group.js';
import { removalPolicy } from '../../../src/model/cluster/repair.js';
import type { PlannedPlacement } from '../../../src/model/node/placement.js';
import { refuseRemoval, removalsOf } from '../../../src/model/plan/machines/removals.js';
import type { ClusterSpec, GroupSpec } from '../../../src/model/cluster/spec.js';
import { aimOf, servicesOf, type ClusterState } from '../../../src/model/cluster/state.js';
import { rowsOf, summarise, type Summarised } from '../../../src/model/plan/facts/summarise.js';
import { bootstrapDigest } from '../../../src/model/plan/facts/digest.js';
import { automators, digest, placementOf } from './specs.js';

export interface TestState
  extends Summarised, Pick<ClusterState, 'nodes' | 'groups' | 'target' | 'planned' | 'consent'> {
  readonly counters: Pick<ClusterState['counters'], 'operation' | 'nodenum'>;
}

/** A task that was carried out: `START app-1 app`. */
export interface Done {
  readonly nodeId: string;
  readonly step: Step;
}

/** What happens to a task, by its title. */
export type Fault = (title: string) => boolean;

export interface Play {
  /** Tasks in the order of their ends. */
  readonly done: readonly Done[];
  readonly failed: readonly string[];
  /** Nodes that never came to the end of their chain, and did not fail. */
  readonly stuck: readonly string[];
  /** Most nodes in one batchSlot at once. */
  readonly widest: number;
}

export function titleOf(id: string, step: Step): string {
  return step.service === undefined ? `${step.action} ${id}` : `${step.action} ${id} ${step.service}`;
}

/**
 * A cluster whose tasks are carried out by writing them down, with the same records that the workflow keeps.
 * `pick` chooses which of the nodes that can go on does.
 */
export class TestCluster {
  state: TestState = {
    stopped: [],
    retired: {},
    nodes: {},
    groups: {},
    peers: noPeers,
    scaled: {},
    achievedCounts: {},
    counters: { operation: 0, nodenum: 0 },
  };
  /** Names of hardware that mean other machines than before, as after a change of heddle.yaml. */
  renamed: readonly string[] = [];
  readonly #pick: (choices: number) => number;

  constructor(pick: (choices: number) => number = () => 0) {
    this.#pick = pick;
  }

  begin(intent: Intent, target?: ClusterSpec, consent?: Consent): void {
    const operation = this.state.counters.operation + 1;
    const id = String(operation);
    const { target: _target, planned: _planned, consent: _consent, ...state } = this.state;
    this.state = {
      ...state,
      ...(target === undefined ? {} : { target }),
      ...(consent === undefined ? {} : { consent }),
      counters: { ...this.state.counters, operation },
      operation: {
        id,
        uid: `uid${id}`,
        kind: intent.kind,
        intent,
        what: '',
        state: 'running',
        by: 'test',
        requestedAt: '',
        tasks: { total: 0, done: 0, failed: 0 },
      },
    };
    for (const one of Object.keys(this.state.nodes))
      this.#change(one, ({ facts: { mayRemove: _mayRemove, ...facts }, ...node }) => ({ ...node, facts }));
    if (intent.kind === 'replace') for (const one of intent.nodes) this.facts(one, { toReplace: true });
  }

  /** Plans what the operation under way has left to do. Nodes that `inGroups` means are in a group's workflow. */
  plan(spec?: ClusterSpec, inGroups: (id: string) => boolean = () => false): Plan {
    const intent = this.state.operation?.intent ?? { kind: 'apply' };
    const { losable } = this.state.consent ?? {};
    const target = spec === undefined ? {} : { target: spec };
    const wanted = aimOf({ ...this.state, ...target }) as ClusterSpec | undefined;
    const placements = Object.fromEntries(
      Object.entries(wanted?.nodes ?? {}).map(([name, group]) => [name, [this.#placementOf(group)]]),
    );
    return planOperation({
      intent,
      ...(this.state.planned === undefined ? {} : { again: true }),
      ...(losable === undefined ? {} : { losable }),
      spec: wanted,
      current: summarise(this.#withGroup(inGroups)),
      placements,
      digest,
      bootstrapDigest: (services) => bootstrapDigest(automators, wanted?.services ?? {}, services, digest),
    });
  }

  facts(id: string, facts: Partial<NodeState['facts']>): void {
    this.#change(id, (node) => ({ ...node, facts: { ...node.facts, ...facts } }));
  }

  /** Begins an operation and carries it to its end: plans again until nothing is left. */
  run(intent: Intent, spec: ClusterSpec | undefined = this.state.spec): readonly Play[] {
    this.begin(intent);
    const plays = [];
    for (let round = 0; round < 50; round += 1) {
      const plan = this.plan(spec);
      plays.push(this.play(plan));
      if (plan.later === undefined) return plays;
    }
    throw new Error('an operation that never ends');
  }

  /** Carries out one plan as far as it goes. */
  play(plan: Plan, fails: Fault = () => false, most = Infinity): Play {
    this.#adopt(plan);
    const chains = plan.kinds.flatMap((kind) =>
      indexesOf(kind.nodes).map((index) => ({ id: nodeId(kind.group, index), kind, at: 0, failed: false })),
    );
    const passed: Record<string, number> = {};
    const batchSlots: Record<string, Set<string>> = {};
    const done: Done[] = [];
    const failed: string[] = [];
    let widest = 0;
    const mayGoOn = ({ id, kind, at, failed: broken }: (typeof chains)[number]): boolean => {
      const step = kind.chain[at];
      if (
        broken ||
        step === undefined ||
        !(step.after ?? []).every((gate) => (passed[gate] ?? 0) >= (plan.gates[gate] ?? 0))
      )
        return false;
      if (step.batchSlot === undefined) return true;
      const holders = (batchSlots[step.batchSlot] ??= new Set());
      return holders.has(id) || holders.size < (plan.width ?? 0);
    };
    for (
      let able = chains.filter(mayGoOn);
      able.length > 0 && done.length < most;
      able = chains.filter(mayGoOn)
    ) {
      const chain = able[this.#pick(able.length)];
      const step = chain?.kind.chain[chain.at];
      if (chain === undefined || step === undefined) throw new Error('nothing was picked');
      if (step.batchSlot !== undefined) {
        batchSlots[step.batchSlot]?.add(chain.id);
        widest = Math.max(widest, batchSlots[step.batchSlot]?.size ?? 0);
      }
      const refusal = this.#refusalOf(chain.id, step);
      if (refusal !== undefined) throw new Error(refusal);
      this.#change(chain.id, (node) => recordBegun(node, step));
      if (fails(titleOf(chain.id, step)) && step.mayFail !== true) {
        chain.failed = true;
        failed.push(titleOf(chain.id, step));
        continue;
      }
      this.#record(chain.id, chain.kind, step, plan);
      done.push({ nodeId: chain.id, step });
      if (step.counts !== undefined) passed[step.counts] = (passed[step.counts] ?? 0) + 1;
      chain.at += 1;
      if (step.batchSlot !== undefined && chain.kind.chain[chain.at]?.batchSlot !== step.batchSlot)
        batchSlots[step.batchSlot]?.delete(chain.id);
    }
    const stuck = chains
      .filter(({ kind, at, failed: broken }) => !broken && at < kind.chain.length)
      .map(({ id }) => id);
    if (stuck.length === 0 && failed.length === 0)
      this.#tidy(chains.filter(({ kind }) => kind.purpose === 'remove').map(({ id }) => id));
    return { done, failed, stuck, widest };
  }

  #adopt(plan: Plan): void {
    const { spec, kinds, left } = plan;
    const { operation } = this.state;
    const removals = this.state.planned === true ? [] : removalsOf(plan);
    if (operation !== undefined && left !== undefined)
      this.state = { ...this.state, operation: { ...operation, left } };
    if (spec !== undefined) {
      const retired = Object.fromEntries(
        Object.entries(servicesOf(this.state)).filter(([name]) => spec.services[name] === undefined),
      );
      this.state = { ...this.state, spec, retired };
      for (const node of left === undefined ? Object.values(this.state.nodes) : [])
        this.#join(node.nodeId, spec.nodes[node.group]?.services ?? node.services);
    }
    for (const kind of kinds)
      for (const index of indexesOf(kind.nodes)) this.#take(kind, nodeId(kind.group, index));
    for (const removal of removals)
      for (const index of indexesOf(removal.nodes))
        this.#change(nodeId(removal.group, index), (node) => recordRemoval(node, keyOf(operation), removal));
    const { target: _target, consent: _consent, ...state } = this.state;
    this.state = { ...state, planned: true };
  }

  #refusalOf(id: string, step: Step): string | undefined {
    const { operation, nodes } = this.state;
    const node = nodes[id];
    const policy = { operation: keyOf(operation), ...removalPolicy(this.state) };
    return node === undefined ? undefined : refuseRemoval(node, step, policy);
  }

  #placementOf(group: GroupSpec): PlannedPlacement {
    const { digest: known, ...placement } = placementOf(group);
    return { ...placement, digest: this.renamed.includes(group.hardware) ? `another ${known}` : known };
  }

  #withGroup(inGroups: (id: string) => boolean): TestState {
    const { nodes, operation } = this.state;
    const others = Object.values(nodes).filter(({ nodeId: id }) => inGroups(id));
    const inline = Object.entries(nodes).filter(([, node]) => !others.includes(node));
    const rows = rowsOf(others, keyOf(operation));
    return { ...this.state, nodes: Object.fromEntries(inline), groups: { 1: { ...newGroup, rows } } };
  }

  #take(kind: Kind, id: string): void {
    const node = this.state.nodes[id];
    if (kind.purpose === 'remove') {
      if (node?.leaving !== true)
        this.#touch([...(node?.services ?? []), ...Object.keys(node?.facts.services ?? {})]);
      this.#change(id, (before) => ({ ...before, leaving: true }));
    } else if (node === undefined) {
      const { counters } = this.state;
      const made: NodeState = {
        nodeId: id,
        group: kind.group,
        nodenum: counters.nodenum + 1,
        hostname: hostname('web', id),
        incarnation: 0,
        payload: {},
        facts: { services: {} },
        services: kind.services,
        changedAt: 0,
        runs: {},
      };
      this.state = {
        ...this.state,
        counters: { ...counters, nodenum: made.nodenum },
        nodes: { ...this.state.nodes, [id]: made },
      };
      this.#touch(kind.services);
    } else if (kind.ownServices === true) this.#join(id, kind.services);
  }

  #join(id: string, services: readonly string[]): void {
    const before = this.state.nodes[id]?.services ?? [];
    if (before.length === services.length && before.every((name) => services.includes(name))) return;
    this.#touch([...before, ...services]);
    this.#change(id, (node) => ({ ...node, services }));
  }

  #record(id: string, kind: Kind, step: Step, plan: Plan): void {
    if (step.action === 'CREATE') {
      const planned = plan.placements[kind.group]?.[0];
      if (planned === undefined) throw new Error(`no placement for ${id}`);
      this.#change(id, (node) => recordMachine(node, planned));
    }
    const before = this.state.nodes[id]?.facts;
    const occasion = { operation: keyOf(this.state.operation), peers: this.state.peers.version };
    this.#change(id, (node) => recordDone(node, step, {}, occasion));
    // A machine that only came up again kept its address.
    if (step.action === 'CONFIRM' && before?.seen !== 'rebooted')
      this.#touch(this.state.nodes[id]?.services ?? []);
  }

  #tidy(removed: readonly string[]): void {
    const nodes = Object.fromEntries(
      Object.entries(this.state.nodes).filter(([id]) => !removed.includes(id)),
    );
    this.state = { ...this.state, nodes };
    const kind = this.state.operation?.kind;
    if (kind !== 'apply' && kind !== 'rollback') return;
    for (const node of Object.values(nodes)) {
      for (const name of Object.keys(node.facts.services)) {
        if (!node.services.includes(name))
          this.#change(node.nodeId, (before) => withoutService(before, name));
      }
    }
  }

  #touch(services: readonly string[]): void {
    this.state = { ...this.state, peers: touchPeers(this.state.peers, services) };
  }

  #change(id: string, change: (node: NodeState) => NodeState): void {
    const node = this.state.nodes[id];
    if (node === undefined) throw new Error(`there is no node ${id}`);
    this.state = { ...this.state, nodes: { ...this.state.nodes, [id]: change(node) } };
  }
}

function keyOf(operation: Operation | undefined): string {
  return operation === undefined ? '' : operationKey(operation);
}
