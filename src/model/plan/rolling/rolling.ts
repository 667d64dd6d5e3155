import { milliseconds } from '../../milliseconds.js';
import type { PlanningInput, Rolling } from '../context.js';

/**
 * A width in the request holds for all services. Without one, those roll whose cluster file says so;
 * undefined if none of the services meant does.
 */
export function rollingOf(input: PlanningInput): Rolling | undefined {
  const { intent, spec, current } = input;
  const settleMs = settleTimes(input);
  if ('width' in intent && intent.width !== undefined) {
    const { width } = intent;
    const names = [...Object.keys(current.services), ...Object.keys(spec?.services ?? {})];
    return { width, widths: Object.fromEntries(names.map((name) => [name, width])), settleMs };
  }
  const meant = servicesMeant(intent);
  const placed = new Set(Object.values(spec?.nodes ?? {}).flatMap(({ services }) => services));
  const batches = Object.entries(spec?.services ?? {}).flatMap(([name, { rolling }]) =>
    rolling === undefined || !placed.has(name) ? [] : [[name, rolling.batch] as const],
  );
  if (!batches.some(([name]) => meant === 'all' || meant.includes(name))) return undefined;
  return {
    width: Math.min(...batches.map(([, batch]) => batch)),
    widths: Object.fromEntries(batches),
    settleMs,
  };
}

function settleTimes({ spec }: PlanningInput): Rolling['settleMs'] {
  return Object.fromEntries(
    Object.entries(spec?.services ?? {}).flatMap(([name, { rolling }]) =>
      rolling?.settle === undefined ? [] : [[name, milliseconds(rolling.settle)] as const],
    ),
  );
}

/** The services that an operation rolls through according to the cluster file. */
function servicesMeant(intent: PlanningInput['intent']): readonly string[] | 'all' {
  switch (intent.kind) {
    case 'apply':
    case 'rollback':
    case 'scale':
      return 'all';
    case 'restart':
    case 'reconfigure':
      return intent.services.length === 0 ? 'all' : intent.services;
    default:
      return [];
  }
}
