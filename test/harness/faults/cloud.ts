import type { NodeAccess } from '../../../src/activities/parts.js';
import {
  PluginError,
  Provider,
  type CreateInput,
  type Machine,
  type MachineInput,
  type TaskResult,
} from '../../../src/plugins/contract.js';
import type { RegisteredProvider } from '../../../src/plugins/registry.js';
import { checkStart, checkStop, readRun, type Execution } from './world.js';

/**
 * A provider account and its machines in memory: what a cloud and SSH are to the engine, without their time.
 * Everything above them is the product's own. A run that was claimed on a machine is attached to, as on a
 * real node.
 */
export interface Cloud {
  readonly provider: RegisteredProvider;
  readonly nodes: NodeAccess;
  /** Machines of a cluster that were not deleted. */
  machines(cluster: string): readonly CloudMachine[];
  /** Keys of a cluster's machines, one entry for each machine that was ever made. */
  made(cluster: string): readonly string[];
  /** Scripts of a cluster that were started, in order. */
  executions(cluster: string): readonly Execution[];
  /** What happened that should never: a service started before what it needs, and such. */
  violations(cluster: string): readonly string[];
  /**
   * What the provider was told of machines of a cluster or a pool, by the keys of their machines: `reused
   * KEY`, `deleted KEY`.
   */
  heard(cluster: string): readonly string[];
  /** Done before the next machine of this hostname is made: the call waits for it, and fails as it does. */
  beforeCreate(hostname: string, act: () => Promise<void>): void;
  /** The account deletes no machines of a cluster or a pool until it is mended. */
  breakDeletes(cluster: string): void;
  /** The machine is gone behind everybody's back. */
  lose(id: string): void;
  /** Scripts of this task end with an exit code other than 0 until it is mended. */
  breakScript(cluster: string, task: string): void;
  mend(cluster: string): void;
}

export interface CloudMachine {
  readonly id: string;
  readonly key: string;
  readonly token: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly hostname: string;
  readonly address: string;
  readonly createdAt: string;
  alive: boolean;
  /** Services that run on it. */
  readonly running: Set<string>;
  readonly runs: Map<string, number>;
}

export function openCloud(): Cloud {
  const machines: CloudMachine[] = [];
  const executions: Execution[] = [];
  const violations: { readonly cluster: string; readonly text: string }[] = [];
  const heard: { readonly cluster: string; readonly text: string }[] = [];
  const keeping = new Set<string>();
  const broken = new Map<string, Set<string>>();
  const before = new Map<string, () => Promise<void>>();
  const alive = (): readonly CloudMachine[] => machines.filter((machine) => machine.alive);
  const clusterOf = (machine: CloudMachine): string => machine.tags['heddle-cluster'] ?? '';
  const of = (cluster: string): readonly CloudMachine[] =>
    alive().filter((machine) => clusterOf(machine) === cluster);
  const at = (address: string): CloudMachine => {
    const machine = alive().find((candidate) => candidate.address === address);
    // A real node that is gone is tried for minutes; here it is known at once that nobody will answer.
    if (machine === undefined) throw new PluginError('UnknownOutcome', `nobody answers at ${address}`);
    return machine;
  };

  class MemoryProvider extends Provider {
    override async create({ token, key, tags, hostname }: CreateInput): Promise<TaskResult> {
      const act = before.get(hostname);
      before.delete(hostname);
      await act?.();
      const known = machines.find((machine) => machine.token === token);
      if (known !== undefined) return { result: createdOf(known) };
      const machine: CloudMachine = {
        id: `m-${machines.length + 1}`,
        key,
        token,
        tags,
        hostname,
        address: `10.0.${Math.floor(machines.length / 250)}.${(machines.length % 250) + 1}`,
        createdAt: new Date().toISOString(),
        alive: true,
        running: new Set(),
        runs: new Map(),
      };
      machines.push(machine);
      return { result: createdOf(machine) };
    }

    override async confirm({ providerid }: MachineInput): Promise<TaskResult> {
      const machine = alive().find(({ id }) => id === providerid);
      if (machine === undefined) throw new PluginError('Invalid', `there is no machine ${providerid}`);
      return {
        result: { ipaddress: machine.address, 'ssh-port': 22, 'ssh-host-key': `key-of-${machine.id}` },
      };
    }

    override async delete({ providerid, key, tags }: MachineInput): Promise<TaskResult> {
      if (keeping.has(tags['heddle-cluster'] ?? '')) throw new PluginError('Retryable', 'status 503');
      for (const machine of machines)
        if (machine.id === providerid || machine.key === key) machine.alive = false;
      return {};
    }

    async nodeReused({ key, tags }: MachineInput): Promise<void> {
      heard.push({ cluster: tags['heddle-cluster'] ?? '', text: `reused ${key}` });
    }

    async nodeDeleted({ key, tags }: MachineInput): Promise<void> {
      heard.push({ cluster: tags['heddle-cluster'] ?? '', text: `deleted ${key}` });
      throw new Error('what is heard changes nothing');
    }

    async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
      return alive()
        .filter((machine) => Object.entries(tags).every(([name, value]) => machine.tags[name] === value))
        .map(shown);
    }

    async find(key: string): Promise<readonly Machine[]> {
      return alive()
        .filter((machine) => machine.key === key)
        .map((machine) => ({ ...shown(machine), created: createdOf(machine) }));
    }
  }

  const execute = (machine: CloudMachine, runId: string): number => {
    const known = machine.runs.get(runId);
    if (known !== undefined) return known;
    const cluster = clusterOf(machine);
    const execution = { ...readRun(runId), cluster, runId, machine: machine.id };
    executions.push(execution);
    const code = broken.get(cluster)?.has(execution.task) === true ? 9 : 0;
    machine.runs.set(runId, code);
    if (code !== 0) return code;
    const { action, service } = execution;
    const wrong =
      action === 'START'
        ? checkStart(execution, machine, of(cluster))
        : action === 'STOP'
          ? checkStop(execution, of(cluster))
          : undefined;
    if (wrong !== undefined) violations.push({ cluster, text: wrong });
    if (action === 'START') machine.running.add(service);
    if (action === 'STOP' || action === 'REMOVE') machine.running.delete(service);
    return code;
  };

  return {
    provider: {
      descriptor: { ...descriptor, idempotency: 'token' },
      digest: 'memory',
      isProgram: false,
      folder: '/',
      abilities: ['list', 'find', 'nodeReused', 'nodeDeleted'],
      create: (context) => new MemoryProvider(context),
    },
    nodes: {
      probe: async ({ host }) => ({ hostKey: `key-of-${at(host).id}`, bootId: at(host).id }),
      ping: () => Promise.resolve(undefined),
      connect: () => Promise.reject(new PluginError('Invalid', 'nothing listens in memory')),
      shell: ({ host }, { runId, signal, detach }) => ({
        async run({ name }) {
          if (signal.aborted) throw new PluginError('ScriptFailed', 'the script was cancelled');
          if (detach?.aborted === true) throw new PluginError('Retryable', 'let go');
          const exitCode = execute(at(host), name === undefined ? runId : `${runId}.${name}`);
          return { exitCode, stdout: '', stderr: '' };
        },
        async exec() {
          at(host);
          return { exitCode: 0, stdout: '', stderr: '' };
        },
        putFile: async () => undefined,
      }),
    },
    machines: of,
    made: (cluster) => machines.filter((machine) => clusterOf(machine) === cluster).map(({ key }) => key),
    executions: (cluster) => executions.filter((execution) => execution.cluster === cluster),
    heard: (cluster) => heard.filter((one) => one.cluster === cluster).map(({ text }) => text),
    violations: (cluster) =>
      violations.filter((violation) => violation.cluster === cluster).map(({ text }) => text),
    beforeCreate: (hostname, act) => {
      before.set(hostname, act);
    },
    lose(id) {
      for (const machine of machines) if (machine.id === id) machine.alive = false;
    },
    breakScript: (cluster, task) => {
      broken.set(cluster, (broken.get(cluster) ?? new Set()).add(task));
    },
    breakDeletes: (cluster) => {
      keeping.add(cluster);
    },
    mend: (cluster) => {
      keeping.delete(cluster);
      broken.delete(cluster);
    },
  };
}

const descriptor = {
  name: 'memory',
  type: 'provider',
  entry: 'memory',
  class: 'MemoryProvider',
  version: '1.0.0',
  description: 'Machines in memory',
  requests: [],
  abilities: [],
  environment: {},
  limits: {},
  serial: false,
  countsCalls: false,
  consistencyWindowMs: 0,
  callDeadlineMs: 10_000,
  prepares: 'all',
  needs: [],
  capabilities: [],
} as const;

function createdOf({ id }: CloudMachine): {
  readonly providerid: string;
  readonly 'ssh-auth': { readonly user: string; readonly password: string };
} {
  return { providerid: id, 'ssh-auth': { user: 'tester', password: 'let me in' } };
}

function shown({ id, key, tags, createdAt, address }: CloudMachine): Machine {
  return { providerid: id, key, tags, state: 'running', createdAt, address };
}
