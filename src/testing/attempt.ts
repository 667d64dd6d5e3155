import type { Action } from '../model/action.js';
import type { JsonObject } from '../model/json.js';
import type { Calls, Claims, PluginLog, Task, TaskResult } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { acceptResult, type ResultOf } from '../schema/accept-result.js';
import { createRedactor } from '../secrets/redact.js';

/** The log, output and errors of a plugin, redacted as the engine does. */
export class Transcript {
  readonly #secrets: string[] = [];
  readonly #entries: string[] = [];

  readonly log: PluginLog = {
    debug: (...words) => this.add(words),
    info: (...words) => this.add(words),
    warn: (...words) => this.add(words),
    error: (...words) => this.add(words),
  };

  hide(secrets: readonly string[]): void {
    this.#secrets.push(...secrets);
  }

  add(entry: unknown): void {
    this.#entries.push(typeof entry === 'string' ? entry : JSON.stringify(entry));
  }

  redacted(): string {
    return createRedactor(this.#secrets).redact(this.#entries.join('\n'));
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

/** Checks the returned value of a method as the engine does. @throws PluginError */
export function takeResult(
  returned: TaskResult | void,
  source: ResultOf,
): { readonly result: JsonObject; readonly output: string } {
  const { status = 0, result, stdout = '', stderr = '' } = acceptResult(returned, source);
  if (status !== 0)
    throw new PluginError('ScriptFailed', `plugin ${source.plugin.name} ended with status ${status}`, {
      exitCode: status,
      stdout,
      stderr,
    });
  return { result, output: `${stdout}\n${stderr}` };
}

/** A rate limiter that lets every call pass, and counts. */
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
