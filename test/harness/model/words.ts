import type { Kind, Plan } from '../../../src/model/plan/plan.js';
import type { Done } from './cluster.js';

/** A plan in few words: `update app 1-2: STOP app, START app`. */
export function inWords({ kinds }: Pick<Plan, 'kinds'>): readonly string[] {
  return kinds.map(
    (kind) =>
      `${kind.purpose} ${kind.group} ${kind.nodes.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(',')}: ${chainOf(kind)}`,
  );
}

function chainOf({ chain }: Kind): string {
  return chain
    .map(({ action, service }) => (service === undefined ? action : `${action} ${service}`))
    .join(', ');
}

/** What each step waits for, by the step: `START app`: `START:db`. */
export function waitsOf({ kinds }: Plan): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    kinds.flatMap(({ chain }) =>
      chain.flatMap(({ action, service, after }) =>
        after === undefined ? [] : [[service === undefined ? action : `${action} ${service}`, after]],
      ),
    ),
  );
}

/** Tasks in the order in which they were done: `STOP app app-1`. */
export function tasksOf(done: readonly Done[]): readonly string[] {
  return done.map(({ nodeId, step }) =>
    [step.action, ...(step.service === undefined ? [] : [step.service]), nodeId].join(' '),
  );
}
