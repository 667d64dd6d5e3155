import type { Action } from '../../model/action.js';
import { milliseconds } from '../../model/milliseconds.js';
import type { ServiceHealth } from '../../model/node/health.js';
import type { NodeStatus } from '../../schema/output/status.js';
import { formatAge } from '../format.js';

/** What a node is doing, in a few words: `INSTALL app`, `START app waits for: db started`. */
export function describeDoing(node: NodeStatus): string {
  const { failure, current } = node;
  if (failure !== undefined) return `${taskWords(failure)} failed`;
  if (current === undefined) return '';
  if (current.state === 'waiting') return `${taskWords(current)} waits for: ${gateList(current.gates ?? [])}`;
  if (current.state === 'paused') return `${taskWords(current)} is paused`;
  return current.state === 'queued' ? `${taskWords(current)} waits for its turn` : taskWords(current);
}

/** How long the node has been in this state; empty for an idle node. */
export function describeSince(node: NodeStatus, now: number): string {
  const since = node.failure?.at ?? node.current?.since;
  return since === undefined ? '' : formatAge(since, now);
}

export function taskWords(task: { readonly action: string; readonly service?: string }): string {
  return task.service === undefined ? task.action : `${task.action} ${task.service}`;
}

function gateList(gates: readonly string[]): string {
  const [first, ...more] = describeGates(gates);
  return more.length === 0 ? (first ?? 'another node') : `${first} and ${more.length} more`;
}

const doneWords = {
  CREATE: 'created',
  CONFIRM: 'confirmed',
  BOOTSTRAP: 'bootstrapped',
  INSTALL: 'installed',
  CONFIGURE: 'configured',
  RELOAD: 'reloaded',
  INITIALIZE: 'initialized',
  START: 'started',
  STOP: 'stopped',
  REMOVE: 'removed',
  DELETE: 'deleted',
  EXEC: 'executed',
} as const satisfies Record<Action, string>;

/** The nodes of a gate that is not about all nodes. */
const phaseWords: Readonly<Record<string, string>> = {
  first: ' on the nodes where it is down',
  replace: ' on the nodes that are replaced',
  down: ' on the nodes that are removed',
  drain: ' without the nodes of this batch',
  undrain: ' with all nodes again',
};

/** What a gate is about, what has to be done there, and on which nodes if not on all. */
interface GateWords {
  readonly what: string;
  readonly done: string;
  readonly where: string;
}

/**
 * Gates in words, those of one service together: `START:db` is "db started", `CONFIRM:@app` is "all app nodes
 * confirmed".
 */
export function describeGates(gates: readonly string[]): readonly string[] {
  const words = gates.map(gateWords);
  const merged = new Map<string, GateWords[]>();
  for (const one of words) {
    const key = `${one.what}/${one.where}`;
    merged.set(key, [...(merged.get(key) ?? []), one]);
  }
  return [...merged.values()].map((same) => {
    const { what = '', where = '' } = same[0] ?? {};
    const done = [...new Set(same.map((one) => one.done))].filter((one) => one !== '');
    const last = done.length > 1 ? ` and ${done.at(-1)}` : '';
    const others = done.length > 1 ? done.slice(0, -1).join(', ') : (done[0] ?? '');
    return `${what} ${others}${last}${where}`.trimEnd();
  });
}

function gateWords(gate: string): GateWords {
  // Text that is not a gate, such as a batch slot, is shown unchanged.
  if (!gate.includes(':')) return { what: gate, done: '', where: '' };
  const [phase, id] = gate.includes('/') ? gate.split('/', 2) : ['', gate];
  const [action = '', of = ''] = (id ?? '').split(':', 2);
  const what = of.startsWith('@') ? `all ${of.slice(1)} nodes` : of;
  return { what, done: doneWords[action as Action], where: phaseWords[phase ?? ''] ?? '' };
}

/** How long the result of a check counts without periodic probes, in ms. */
const freshMs = 5 * 60_000;
/** How late a periodic probe may come, in ms. */
const lateMs = 30_000;

/** Whether a check is older than the interval of probes, so that the present state is unknown. */
export function isStale({ at }: Pick<ServiceHealth, 'at'>, now: number, everySeconds?: number): boolean {
  const limitMs = everySeconds === undefined ? freshMs : milliseconds(everySeconds) + lateMs;
  return now - Date.parse(at) > limitMs;
}

/** The state of a node; for a ready node also the age of its last check. */
export function describeState(
  { state, checkedAt: at }: Pick<NodeStatus, 'state' | 'checkedAt'>,
  now: number,
  everySeconds?: number,
): string {
  if (state !== 'ready' || at === undefined) return state;
  const age = formatAge(at, now);
  return isStale({ at }, now, everySeconds) ? `ready (not checked for ${age})` : `ready (${age} ago)`;
}

/**
 * A service of a node in short: `web`, `web (healthy, 12 s ago)`, `web (not checked for 2 h 10 m)`. Without a
 * check its health is unknown.
 */
export function withHealth(
  service: string,
  health: ServiceHealth | undefined,
  now: number,
  everySeconds?: number,
): string {
  if (health === undefined) return service;
  const age = formatAge(health.at, now);
  if (isStale(health, now, everySeconds)) return `${service} (not checked for ${age})`;
  return `${service} (${health.well ? 'healthy' : 'unhealthy'}, ${age} ago)`;
}

/** Failed health checks, and their age. */
export function healthLines(nodes: readonly NodeStatus[], now: number): readonly string[] {
  return nodes.flatMap(({ nodeId, health = {} }) =>
    Object.entries(health).flatMap(([service, { well, at, why }]) =>
      well
        ? []
        : [
            `${service} on ${nodeId} is unhealthy: ${why ?? 'its check failed'} (checked ${formatAge(at, now)} ago)`,
          ],
    ),
  );
}

/** A large cluster may have lost a whole rack. */
const shown = 5;

/** A line for each drifted machine, with the age of the probe that found it. */
export function driftLines(nodes: readonly NodeStatus[], now: number): readonly string[] {
  const lines = nodes.flatMap(({ nodeId, drift }) =>
    drift === undefined ? [] : [`drift: ${nodeId}: ${drift.why} (checked ${formatAge(drift.at, now)} ago)`],
  );
  return lines.length <= shown
    ? lines
    : [...lines.slice(0, shown), `drift: and ${lines.length - shown} more nodes`];
}
