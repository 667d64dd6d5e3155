import type {
  Automator,
  AutomatorParts,
  JsonObject,
  PluginContext,
  PluginLog,
  Task,
} from '../../../src/plugins/contract.js';
import { createPool, type ConnectionPool } from '../../../src/ssh/pool.js';
import { createShell } from '../../../src/ssh/shell.js';
import type { TestNode } from '../ssh-server.js';

const pools: ConnectionPool[] = [];

export interface ToolPlace {
  readonly taskName?: Task['taskName'];
  readonly nodeId?: string;
  /** The administrator's fields. */
  readonly admin?: JsonObject;
  /** Cancels the task. */
  readonly signal?: AbortSignal;
  /** The action's `timeout`. */
  readonly timeoutMs?: number;
}

/** An automator as the engine makes one for an attempt of a task of its own, and what it says. */
export function toolOn<Tool extends Automator>(
  Tool: new (context: PluginContext & AutomatorParts) => Tool,
  node: TestNode,
  fields: JsonObject,
  operation = 'op',
  resources: NonNullable<Task['resources']> = {},
  {
    taskName = 'INSTALL',
    nodeId = 'app-1',
    admin = {},
    signal = new AbortController().signal,
    timeoutMs,
  }: ToolPlace = {},
): { readonly automator: Tool; readonly said: readonly string[]; readonly output: () => string } {
  const said: string[] = [];
  const chunks: Buffer[] = [];
  const say = (message: string): void => {
    said.push(message);
  };
  const log: PluginLog = { debug: () => undefined, info: say, warn: say, error: say };
  const task: Task = {
    taskId: `3f0c/${nodeId}#1/web/${taskName}/${operation}`,
    taskName,
    clusterId: 'shop',
    clusterUid: '3f0c',
    nodeId,
    incarnation: 1,
    attempt: 1,
    config: {
      ipaddress: '127.0.0.8',
      'ssh-auth': { user: 'tester', password: 'PASSWORD-OF-NODE' },
      'web.port': '8080',
    },
    nodes: {
      'app-1': {
        hostname: 'shop-app-1',
        ipaddress: '127.0.0.8',
        services: ['web'],
        nodenum: 1,
        group: 'app',
      },
    },
    cluster: { colour: 'blue', size: { x: 1, y: 2 } },
    provider: { name: 'lab', type: 'local', fields: {} },
    service: { name: 'web', action: { type: 'tool', fields } },
    resources,
  };
  const pool = createPool();
  pools.push(pool);
  const shell = createShell({
    pool,
    target: node.target,
    runId: `${task.taskId}.1`,
    log,
    signal,
    onOutput: (_stream, chunk) => {
      chunks.push(chunk);
    },
    timeoutMs,
  });
  return {
    automator: new Tool({ task, log, signal, fields: admin, shell }),
    said,
    output: () => Buffer.concat(chunks).toString(),
  };
}

export async function closeAll(): Promise<void> {
  for (const pool of pools.splice(0)) await pool.closeAll();
}
