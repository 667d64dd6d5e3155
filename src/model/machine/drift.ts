import { driftKinds, type DriftKind, type MessageIntent } from './intents.js';
import type { MachineState } from './state.js';
import type { Drift } from '../../schema/output/machine.js';
import type { Known, Power } from './answer.js';
import { formatImageRef, isSameImage, type ImageRef } from './image.js';
import type { MachineStateName } from './transitions.js';

/** Result of one check. Each part is absent if unknown. */
export interface Observation {
  /** Whether the provider has the machine. */
  readonly there: Known;
  readonly power: Power;
  /** Null: it has none; absent: not known. */
  readonly image?: ImageRef | null;
}

/** Readings after which a drift counts. */
export const readingsThreshold = 2;

const mostTries = 3;

/** Records a check. Unknown parts neither add to a drift nor end it. */
export function noteReadings(machine: MachineState, observation: Observation, at: string): readonly Drift[] {
  return driftKinds.flatMap((kind): readonly Drift[] => {
    const before = machine.drift?.find((drift) => drift.kind === kind);
    const reading = readings[kind](machine, observation);
    if (reading === 'unknown') return before === undefined ? [] : [before];
    if (reading === 'right') return [];
    const same = before?.found === reading.found && before.expected === reading.expected;
    return [same ? { ...before, seen: before.seen + 1 } : { kind, ...reading, since: at, seen: 1, tries: 0 }];
  });
}

export function counts({ seen }: Drift): boolean {
  return seen >= readingsThreshold;
}

/** The correction for a drift according to the machine's policy; undefined if there is none. */
export function correctionOf(
  machine: MachineState,
): { readonly kind: DriftKind; readonly intent: MessageIntent } | undefined {
  const { drift = [], correct = [], state, quarantine } = machine;
  if (quarantine !== undefined) return undefined;
  const found = drift.find(
    (one) =>
      counts(one) &&
      one.tries < mostTries &&
      correct.includes(one.kind) &&
      correctable[one.kind].includes(state),
  );
  return found === undefined ? undefined : { kind: found.kind, intent: intentFor(machine, found) };
}

export function noteTry(drift: readonly Drift[], kind: DriftKind): readonly Drift[] {
  return drift.map((one) => (one.kind === kind ? { ...one, tries: one.tries + 1 } : one));
}

type Reading = 'right' | 'unknown' | { readonly expected: string; readonly found: string };

const readings: Readonly<Record<DriftKind, (machine: MachineState, observation: Observation) => Reading>> = {
  gone: (_machine, { there }) =>
    there === 'unknown' ? 'unknown' : there === 'yes' ? 'right' : { expected: 'there', found: 'gone' },
  power: ({ keepsOff }, { there, power }) => {
    const expected = keepsOff === true ? 'off' : 'on';
    if (there === 'no' || power === 'unknown') return 'unknown';
    return power === expected ? 'right' : { expected, found: power };
  },
  image: ({ image: expected }, { image: found }) => {
    if (expected === undefined) return 'right';
    if (found === undefined) return 'unknown';
    return found !== null && isSameImage(found, expected)
      ? 'right'
      : { expected: formatImageRef(expected), found: found === null ? 'none' : formatImageRef(found) };
  },
};

/** Where a machine must stand for a drift to be corrected: an image is never written over a user's work. */
const correctable: Readonly<Record<DriftKind, readonly MachineStateName[]>> = {
  gone: ['available', 'reserved', 'in use', 'failed', 'timeout'],
  power: ['available', 'reserved', 'in use'],
  image: ['available'],
};

function intentFor({ image }: MachineState, { kind, expected }: Drift): MessageIntent {
  if (kind === 'power') return { kind: 'power', verb: expected === 'off' ? 'off' : 'on' };
  if (kind === 'image' && image !== undefined)
    return { kind: 'load', image: { name: image.name, revision: image.revision } };
  return { kind: 'maintain', reason: 'it is gone: its provider has no such machine' };
}
