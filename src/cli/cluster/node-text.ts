import { milliseconds } from '../../model/milliseconds.js';
import type { ServiceHealth } from '../../model/node/health.js';
import type { NodeStatus } from '../../model/cluster/view.js';
import { formatAge } from '../format.js';

/** What a node is at, in a few words: `INSTALL app`, `START app waits for START of db`. */
export function describeDoing(node: NodeStatus): string {
  const { failure, current } = node;
  if (failure !== undefined) return `${taskWords(failure)} failed`;
  if (current === undefined) return '';
  if (current.state === 'waiting') return `${taskWords(current)} waits for ${gateList(current.gates ?? [])}`;
  if (current.state === 'paused') return `${taskWords(current)} is paused`;
  return current.state === 'queued' ? `${taskWords(current)} waits for its turn` : taskWords(current);
}

/** How long it has been so; empty for a node at rest. */
export function describeSince(node: NodeStatus, now: number): string {
  const since = node.failure?.at ?? node.current?.since;
  return since === undefined ? '' : formatAge(since, now);
}

export function taskWords(task: { readonly action: string; readonly service?: string }): string {
  return task.service === undefined ? task.action : `${task.action} ${task.service}`;
}

function gateList(gates: readonly string[]): string {
  const [first, ...more] = gates.map(describeGate);
  return more.length === 0 ? (first ?? 'another node') : `${first} and ${more.length} more`;
}

/**
 * A gate in words. `START:db` is "START of db on all its nodes", `CONFIRM:@app` is "CONFIRM of all app
 * nodes".
 */
export function describeGate(gate: string): string {
  // Text that is no gate, such as a batch slot, is shown unchanged.
  if (!gate.includes(':')) return gate;
  const [phase, id] = gate.includes('/') ? gate.split('/', 2) : ['', gate];
  const [action = '', of = ''] = (id ?? '').split(':', 2);
  const what = of.startsWith('@')
    ? `${action} of all ${of.slice(1)} nodes`
    : `${action} of ${of} on all its nodes`;
  if (phase === 'first') return `${what} where it does not run`;
  if (phase === 'replace') return `${what} that are replaced`;
  return phase === 'down' ? `${what} that are torn down` : what;
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

/** The state of a node; of one at rest with the age of its last check, or that there was none lately. */
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
 * A service of a node in short: `web`, `web (well, 12 s ago)`, `web (not checked for 2 h 10 m)`. Without a check
 * its health is unknown.
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
  return `${service} (${health.well ? 'well' : 'not well'}, ${age} ago)`;
}

/** Failed health checks, and their age. */
export function healthLines(nodes: readonly NodeStatus[], now: number): readonly string[] {
  return nodes.flatMap(({ nodeId, health = {} }) =>
    Object.entries(health).flatMap(([service, { well, at, why }]) =>
      well
        ? []
        : [
            `${service} on ${nodeId} is not well: ${why ?? 'its check did not pass'} (looked at ${formatAge(at, now)} ago)`,
          ],
    ),
  );
}

/** A large cluster may have lost a whole rack. */
const shown = 5;

/** A line for each machine that the last look did not find as it should be, with the age of that look. */
export function driftLines(nodes: readonly NodeStatus[], now: number): readonly string[] {
  const lines = nodes.flatMap(({ nodeId, drift }) =>
    drift === undefined ? [] : [`drift: ${nodeId}: ${drift.why} (looked at ${formatAge(drift.at, now)} ago)`],
  );
  return lines.length <= shown
    ? lines
    : [...lines.slice(0, shown), `drift: and ${lines.length - shown} nodes more`];
}
