import type { Action } from '../model/action.js';
import type { JsonObject } from '../model/json.js';
import type { Calls, Claims, PluginLog, Task, TaskResult } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { acceptResult, type ResultOf } from '../schema/accept-result.js';
import { createRedactor } from '../secrets/redact.js';

/**
 * All that a plugin said to people: its log, its output, its errors, with secrets taken out as the engine
 * does.
 */
export class Hearing {
  readonly #secrets: string[] = [];
  readonly #said: string[] = [];

  readonly log: PluginLog = {
    debug: (...words) => this.hear(words),
    info: (...words) => this.hear(words),
    warn: (...words) => this.hear(words),
    error: (...words) => this.hear(words),
  };

  hide(secrets: readonly string[]): void {
    this.#secrets.push(...secrets);
  }

  hear(words: unknown): void {
    this.#said.push(typeof words === 'string' ? words : JSON.stringify(words));
  }

  /** As it reaches people. */
  redacted(): string {
    return createRedactor(this.#secrets).redact(this.#said.join('\n'));
  }
}

export interface TaskParts {
  readonly taskName: Action;
  readonly nodeId: string;
  readonly clusterUid: string;
  readonly config: JsonObject;
  readonly provider: Task['provider'];
  readonly nodes?: Task['nodes'];
  readonly service?: NonNullable<Task['service']>;
  readonly operation?: string;
  readonly attempt?: number;
}

/** A task as the engine makes it. */
export function makeTask({
  taskName,
  nodeId,
  clusterUid,
  config,
  provider,
  nodes,
  service,
  operation = '1',
  attempt = 1,
}: TaskParts): Task {
  return {
    taskId: `${clusterUid}/${nodeId}#1/${service?.name ?? '-'}/${taskName}/${operation}`,
    taskName,
    clusterId: 'suite',
    clusterUid,
    nodeId,
    incarnation: 1,
    attempt,
    config: {
      ...config,
      provider: { providertype: provider.type },
      ...(service === undefined ? {} : { service }),
    },
    nodes: nodes ?? { [nodeId]: { hostname: `suite-${nodeId}`, services: [], nodenum: 1, group: 'app' } },
    cluster: {},
    provider,
    service,
  };
}

/** What a method returned, taken as strictly as the engine takes it. @throws PluginError */
export function takeResult(
  returned: TaskResult | void,
  source: ResultOf,
): { readonly result: JsonObject; readonly said: string } {
  const { status = 0, result, stdout = '', stderr = '' } = acceptResult(returned, source);
  if (status !== 0)
    throw new PluginError('ScriptFailed', `plugin ${source.plugin.name} ended with status ${status}`, {
      exitCode: status,
      stdout,
      stderr,
    });
  return { result, said: `${stdout}\n${stderr}` };
}

/** Lets every call pass, and counts. */
export class CountedCalls implements Calls {
  taken = 0;

  take(): Promise<void> {
    this.taken += 1;
    return Promise.resolve();
  }
}

/** Claims as the engine keeps them, for one suite. */
export function createClaims(): Claims {
  const held = new Map<string, string>();
  return {
    take: (key, candidates) => {
      const machine =
        [...held].find(([, holder]) => holder === key)?.[0] ??
        candidates.find((candidate) => !held.has(candidate));
      if (machine !== undefined) held.set(machine, key);
      return Promise.resolve(machine);
    },
    release: (key) => {
      for (const [machine, holder] of held) if (holder === key) held.delete(machine);
      return Promise.resolve();
    },
    held: () => Promise.resolve(Object.fromEntries(held)),
  };
}
