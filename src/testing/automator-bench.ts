import { randomUUID } from 'node:crypto';
import type { ServiceAction } from '../model/action.js';
import type { Json, JsonObject } from '../model/json.js';
import type {
  AccessInput,
  AttemptNote,
  NodeAddress,
  SystemInput,
  SystemPart,
  TaskResult,
} from '../plugins/contract.js';
import type { AutomatorWithAbilities, RegisteredAutomator } from '../plugins/registry.js';
import { createRedactor } from '../secrets/redact.js';
import { createPool } from '../ssh/pool.js';
import { createShell } from '../ssh/shell.js';
import type { SshTarget } from '../ssh/target.js';
import { makeTask, takeResult, Transcript } from './attempt.js';
import { openNode, type CuttableNode, type SuiteNode } from './cuttable-node.js';
import { readFields } from './read-fields.js';
import type { SuiteOptions } from './runner.js';
import { loadPlugins, noSurroundings, type Surroundings } from './surroundings.js';
import { until } from './until.js';

/** What the suite needs to know to call an automator. */
export interface AutomatorBenchOptions {
  /** The automator's name in its descriptor. */
  readonly name: string;
  /** Plugin folders, as under `plugins` in heddle.yaml; none for a built-in plugin. */
  readonly folders?: readonly string[];
  /** The fields of an action that has the node run this shell text, with the data on its standard input. */
  readonly script: (text: string, data: string) => JsonObject;
  /** A node of your own, such as a container with your tool; by default a machine of the machine service. */
  readonly open?: () => Promise<SuiteNode>;
  /** The administrator's fields, where it has any: as under `automators` in heddle.yaml. */
  readonly admin?: JsonObject;
  /** It creates accounts on its machines. The node that `open` returns must be a whole system then. */
  readonly accounts?: boolean;
  /** It has methods for loading and capturing. The node that `open` returns must be a whole system then. */
  readonly system?: boolean;
  /** Timeout for events on the node, in ms. Default: two minutes. */
  readonly patienceMs?: number;
}

export interface ActionOptions {
  readonly signal?: AbortSignal;
  /** The same task has the same number. */
  readonly operation: string;
  readonly attempt?: number;
  readonly target?: SshTarget;
}

/** An automator on a node, called as the engine calls it: an object and a connection for each attempt. */
export class AutomatorBench {
  readonly plugin: RegisteredAutomator;
  /** Another automator, which prepares the same node. */
  readonly neighbour: RegisteredAutomator;
  readonly options: AutomatorBenchOptions;
  readonly node: CuttableNode;
  readonly surroundings: Surroundings;
  /** The administrator's, checked and filled in, with resolved secrets. */
  readonly fields: JsonObject;
  readonly transcript = new Transcript();
  readonly #clusterUid = randomUUID();
  readonly #notes = new Map<string, Json>();
  readonly #secrets = new Set<string>();
  #count = 0;

  constructor(
    parts: Pick<AutomatorBench, 'plugin' | 'neighbour' | 'options' | 'node' | 'surroundings' | 'fields'>,
    secrets: readonly string[],
  ) {
    this.plugin = parts.plugin;
    this.neighbour = parts.neighbour;
    this.options = parts.options;
    this.node = parts.node;
    this.surroundings = parts.surroundings;
    this.fields = parts.fields;
    this.#hide(secrets);
  }

  /** Polls until the check returns something. @throws Error after the suite's patience. */
  until<Value>(what: string, check: () => Promise<Value | undefined | false>): Promise<Value> {
    return until(what, check, this.options.patienceMs ?? 120_000);
  }

  /** Another task. */
  next(): string {
    this.#count += 1;
    return String(this.#count);
  }

  /** A file on the node that only one case uses. */
  file(): string {
    return `"$HOME"/suite-${this.next()}`;
  }

  bootstrap(plugin = this.plugin, options: Partial<ActionOptions> = {}): Promise<JsonObject> {
    return this.#attempt(
      plugin,
      'BOOTSTRAP',
      undefined,
      { ...options, operation: options.operation ?? this.next() },
      (automator, user) => automator.bootstrap({ user }),
    );
  }

  /** Removes the secrets of the suite's settings. */
  redact(text: string): string {
    return createRedactor([...this.#secrets]).redact(text);
  }

  /** One attempt of an action with these fields. */
  async act(
    action: ServiceAction,
    written: JsonObject,
    options: ActionOptions = { operation: this.next() },
  ): Promise<JsonObject> {
    const { fields, secrets } = await readFields(
      this.plugin.descriptor,
      { user: written },
      this.surroundings,
    );
    this.#hide(secrets);
    const [script, data] = [textOf(fields['script']), textOf(fields['data'])];
    return this.#attempt(this.plugin, action, fields, options, (automator, user) =>
      automator[methods[action]]({ user }, script, data),
    );
  }

  /** One task about accounts, which must be done; gives the digest of the machine's own. */
  async access(method: 'grantAccess' | 'revokeAccess', input: AccessInput): Promise<Json> {
    const {
      answer,
      why,
      accounts = null,
    } = await this.#attempt(
      this.plugin,
      'BOOTSTRAP',
      undefined,
      { operation: this.next() },
      async (automator) => {
        const outcome = await automator[method]?.(input);
        return { result: { ...outcome } };
      },
    );
    if (answer !== 'done') throw new Error(`${method} is ${JSON.stringify(answer)}: ${JSON.stringify(why)}`);
    return accounts;
  }

  /** One call of a method for loading and capturing; gives what it returned. */
  async system(
    method: keyof SystemPart,
    resetNode: SystemInput['resetNode'] = () => Promise.resolve({ answer: 'done' }),
  ): Promise<Json> {
    const { answer = null } = await this.#attempt(
      this.plugin,
      'BOOTSTRAP',
      undefined,
      { operation: this.next() },
      async (automator) => {
        const outcome = await automator[method]?.({
          image: { name: 'suite', revision: '1' },
          machine: { id: this.#clusterUid, hostname: 'suite-app-1' },
          user: 'user-of-the-suite',
          at: '2026-01-01T00:00:00.000Z',
          resetNode,
        });
        return { result: { answer: { ...outcome } } };
      },
    );
    return answer;
  }

  #hide(secrets: readonly string[]): void {
    for (const secret of secrets) this.#secrets.add(secret);
    this.transcript.hide(secrets);
  }

  /** Attempts of one task know of each other, as in the engine. */
  #noteOf(taskId: string): AttemptNote {
    return {
      before: this.#notes.get(taskId),
      write: (note) => {
        this.#notes.set(taskId, note);
        return Promise.resolve();
      },
    };
  }

  async #attempt(
    plugin: RegisteredAutomator,
    taskName: ServiceAction | 'BOOTSTRAP',
    fields: JsonObject | undefined,
    options: ActionOptions,
    call: (automator: AutomatorWithAbilities, user: string) => Promise<TaskResult | void>,
  ): Promise<JsonObject> {
    const {
      target = this.node.target,
      signal = new AbortController().signal,
      operation,
      attempt = 1,
    } = options;
    const { name } = plugin.descriptor;
    const { host, port, user } = target;
    const task = makeTask({
      taskName,
      nodeId: 'app-1',
      clusterUid: this.#clusterUid,
      operation,
      attempt,
      provider: { name: 'suite', type: 'suite', fields: {} },
      config: { hostname: 'suite-app-1', ipaddress: host, 'ssh-port': port, 'ssh-auth': { user } },
      service: fields === undefined ? undefined : { name: 'suite', action: { type: name, fields } },
    });
    const pool = createPool();
    const over = new AbortController();
    const { log } = this.transcript;
    const shell = createShell({
      pool,
      target,
      signal,
      detach: over.signal,
      log,
      runId: `${task.taskId}.1${fields === undefined ? `.${name}` : ''}`,
      onOutput: (_stream, chunk) => this.transcript.add(Buffer.from(chunk).toString('latin1')),
    });
    try {
      const parts = {
        task,
        log,
        signal,
        shell,
        fields: name === this.plugin.descriptor.name ? this.fields : {},
        address: addressOf(target),
        detach: over.signal,
        note: this.#noteOf(task.taskId),
      };
      const { result, output } = takeResult(await call(plugin.create(parts), user), {
        plugin: plugin.descriptor,
        action: task.taskName,
      });
      this.transcript.add(output);
      return result;
    } catch (error) {
      this.transcript.add(error instanceof Error ? error.message : String(error));
      throw error;
    } finally {
      over.abort(new Error('the call is over'));
      await pool.closeAll();
    }
  }
}

function addressOf({ host, port, user, password, privateKey, agent, hostKey }: SshTarget): NodeAddress {
  return { host, port, user, password, key: privateKey, agent, hostKey };
}

const methods = {
  INSTALL: 'install',
  CONFIGURE: 'configure',
  RELOAD: 'configure',
  INITIALIZE: 'init',
  START: 'start',
  STOP: 'stop',
  REMOVE: 'remove',
} as const satisfies Record<ServiceAction, string>;

/** Loads the plugin as a worker does, and gets a node. */
export async function openAutomatorBench(
  options: AutomatorBenchOptions,
  surroundings: Surroundings = noSurroundings,
): ReturnType<SuiteOptions<never, AutomatorBench>['open']> {
  const registry = await loadPlugins(options.folders, surroundings);
  try {
    const plugin = registry.automator(options.name);
    const { fields, secrets } = await readFields(
      plugin.descriptor,
      { admin: options.admin ?? {} },
      surroundings,
    );
    const neighbour = registry.automator('shell');
    const node = await openNode(options.open);
    const { password, privateKey } = node.target;
    const bench = new AutomatorBench({ plugin, neighbour, options, node, surroundings, fields }, [
      ...secrets,
      ...[password, privateKey].filter((secret) => secret !== undefined),
    ]);
    return {
      bench,
      redact: (text) => bench.redact(text),
      close: async () => {
        await node.close().finally(() => registry.close());
      },
    };
  } catch (error) {
    await registry.close();
    throw error;
  }
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
