import { AnsibleAutomator } from '../../../../../src/plugins/automators/ansible/ansible.js';
import type {
  JsonObject,
  AttemptNote,
  PluginLog,
  Task,
  TaskResult,
} from '../../../../../src/plugins/contract.js';
import { createPool, type ConnectionPool } from '../../../../../src/ssh/pool.js';
import { createShell } from '../../../../../src/ssh/shell.js';
import type { SshTarget } from '../../../../../src/ssh/target.js';
import { ansibleProgram } from './program.js';

export interface Playing {
  readonly fields: JsonObject;
  readonly data?: string;
  /** Pointers to values that no author wrote. */
  readonly literal?: readonly string[];
  readonly more?: Partial<Task>;
  readonly admin?: JsonObject;
  readonly detach?: AbortSignal;
  readonly timeoutMs?: number;
  /** What the engine knows of earlier attempts; none was made unless given. */
  readonly note?: AttemptNote;
  /** Where Ansible is to log in, when that is not where the shell does. */
  readonly as?: SshTarget;
}

/** Plays against a target as the engine has it played: an object and a connection for each attempt. */
export class Player {
  readonly pool: ConnectionPool = createPool();
  readonly said: string[] = [];
  /** What went to the task's log while it was played. */
  readonly printed: string[] = [];
  readonly #target: SshTarget;
  readonly #task: Task;

  constructor(target: SshTarget, task: Task) {
    this.#target = target;
    this.#task = task;
  }

  play({
    fields,
    data = '',
    literal,
    more = {},
    admin = {},
    detach = new AbortController().signal,
    timeoutMs,
    note,
    as = this.#target,
  }: Playing): Promise<TaskResult> {
    const task: Task = {
      ...this.#task,
      ...more,
      service: {
        name: 'web',
        action: { type: 'ansible', fields, ...(literal === undefined ? {} : { literal }) },
      },
    };
    const say = (message: string): void => {
      this.said.push(message);
    };
    const log: PluginLog = { debug: () => undefined, info: say, warn: say, error: say };
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    const shell = createShell({
      pool: this.pool,
      target: this.#target,
      runId: `${task.taskId}.1`,
      log,
      detach,
      ...limit,
    });
    const { host, port, user, password, privateKey, hostKey, jump } = as;
    const address = {
      host,
      port,
      user,
      password,
      key: privateKey,
      hostKey,
      jump:
        jump === undefined
          ? undefined
          : { ...jump, ...(jump.privateKey === undefined ? {} : { key: jump.privateKey }) },
    };
    const automator = new AnsibleAutomator({
      task,
      log,
      signal: new AbortController().signal,
      detach,
      shell,
      address,
      print: async (_stream, text) => void this.printed.push(text),
      fields: { program: ansibleProgram, ...admin },
      ...limit,
      ...(note === undefined ? {} : { note }),
    });
    return automator.install({ user }, '', data);
  }
}

export const webTask: Task = {
  taskId: '3f0c/app-2#1/web/INSTALL/op-1',
  taskName: 'INSTALL',
  clusterId: 'shop',
  clusterUid: '3f0c',
  nodeId: 'app-2',
  incarnation: 1,
  attempt: 1,
  config: {
    ipaddress: '127.0.0.9',
    'ssh-auth': { user: 'tester', password: 'PASSWORD-OF-NODE' },
    'web.port': '8080',
  },
  nodes: {
    'db-1': { hostname: 'shop-db-1', services: ['data-base'], nodenum: 3, group: 'db' },
    'app-1': {
      hostname: 'shop-app-1',
      ipaddress: '127.0.0.8',
      services: ['web', 'metrics'],
      nodenum: 1,
      group: 'app',
    },
    'app-2': { hostname: 'shop-app-2', ipaddress: '127.0.0.9', services: ['web'], nodenum: 2, group: 'app' },
  },
  cluster: { colour: 'blue' },
  provider: { name: 'lab', type: 'local', fields: { apiKey: 'KEY-OF-PROVIDER' } },
};
