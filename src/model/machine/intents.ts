import { groups, image, labels, milliseconds } from '../argument-shapes.js';
import { maxLabels } from '../cluster/labels.js';
import {
  flag,
  id,
  jsonObject,
  list,
  object,
  oneOf,
  optional,
  text,
  time,
  variants,
  yes,
  type Fields,
  type ValueOf,
} from '../shape.js';
import { bootDevices } from './boot.js';
import type { MachineEvent } from './transitions.js';

export const powerVerbs = ['on', 'off', 'reset', 'status'] as const;

/**
 * `gone`: the provider has no such machine. `power`: it is on or off, and should not be. `image`: it has
 * another image than it was loaded with.
 */
export const driftKinds = ['gone', 'power', 'image'] as const;
export type DriftKind = (typeof driftKinds)[number];
export const driftList = list(oneOf(...driftKinds), driftKinds.length);

/** Characters of the comment of a quarantine. */
export const longestComment = 500;

const moveTarget = object({
  provider: text(200),
  flavor: optional(text(200, 0)),
  image: optional(text(1_000, 0)),
  fields: optional(jsonObject(65_536)),
});
/** Omitted values stay unchanged. Default of fields for another account: none. */
export type MoveTarget = ValueOf<typeof moveTarget>;

interface Row {
  readonly fields: Fields;
  /** The event that it begins with; absent where it changes no state. */
  readonly begins?: MachineEvent;
  /** Allowed while someone else holds the machine. */
  readonly whileHeld?: true;
  /** Failures, and successes, count for the quarantine. */
  readonly counts?: true;
  /** Who requests it; absent where people do. The machine registers itself when its workflow starts. */
  readonly by?: 'itself' | 'reservations';
  /**
   * May be requested of the machine of a node. Who has that one, and when it goes, its cluster
   * or pool decides.
   */
  readonly ofNodes?: true;
}

const force = optional(yes);
const withinMs = optional(milliseconds());
const user = text(100);

/**
 * What may be requested of a machine. `rules` in decide.ts says when, and
 * workflows/machine/operations.ts does it.
 */
const intents = {
  register: { fields: {}, by: 'itself' },
  /** Completes a registration that failed; else reads the hardware again. */
  retry: { fields: {}, counts: true },
  /** `logIns`: a terminal log-in counts as use, even if it was not recorded. */
  status: { fields: { image: optional(image()), logIns: optional(yes) }, whileHeld: true, ofNodes: true },
  power: { fields: { verb: oneOf(...powerVerbs) }, whileHeld: true, counts: true, ofNodes: true },
  /** What it boots next time, and not later. */
  boot: { fields: { device: oneOf(...bootDevices) }, whileHeld: true, counts: true },
  load: {
    fields: {
      image: image(),
      force,
      withinMs,
      /** Only the steps after loading, on a machine that has the image. */
      only: optional(oneOf('post-load')),
    },
    begins: 'begin load',
    counts: true,
    ofNodes: true,
  },
  capture: {
    fields: { image: image(), prove: flag, withinMs },
    begins: 'begin capture',
    counts: true,
    ofNodes: true,
  },
  unload: { fields: {}, begins: 'begin load', counts: true, ofNodes: true },
  reserve: { fields: { user }, begins: 'reserve' },
  /** `publicKey`: the user's own, in place of a password. */
  'log in': { fields: { user, publicKey: optional(text(16_384)) }, begins: 'log in' },
  'time out': { fields: {}, begins: 'time out' },
  release: { fields: {}, begins: 'release' },
  /** A reservation has it until then, or for longer than before. */
  hold: { fields: { reservation: id(), user, until: time() }, by: 'reservations' },
  /** The reservation no longer needs it. */
  'let go': { fields: {}, by: 'reservations' },
  maintain: { fields: { reason: text(1_000, 0) }, begins: 'maintain', whileHeld: true },
  restore: { fields: {}, begins: 'restore', whileHeld: true },
  correct: { fields: { drift: driftList }, whileHeld: true },
  /** Replaces its groups. */
  group: { fields: { groups: groups() }, whileHeld: true },
  /** Adds or changes some of its labels, and removes others. */
  label: { fields: { labels: labels(), remove: list(text(40), maxLabels) }, whileHeld: true },
  /** It is not chosen by reservations until the end of the quarantine. */
  quarantine: { fields: { comment: text(longestComment) }, whileHeld: true },
  'end quarantine': { fields: {}, whileHeld: true },
  /** Another account gets it: another provisioning system, or another site. */
  move: { fields: { to: moveTarget } },
  remove: { fields: { force } },
} as const satisfies Readonly<Record<string, Row>>;

type Intents = typeof intents;
export type IntentKind = keyof Intents;
type NodeIntentKind = {
  [Kind in IntentKind]: Intents[Kind] extends { readonly ofNodes: true } ? Kind : never;
}[IntentKind];

type MessageKind = {
  [Kind in IntentKind]: Intents[Kind] extends { readonly by: 'itself' } ? never : Kind;
}[IntentKind];
type RequestKind = {
  [Kind in IntentKind]: Intents[Kind] extends { readonly by: string } ? never : Kind;
}[IntentKind];

type FieldsOf<Kinds extends IntentKind> = { readonly [Kind in Kinds]: Intents[Kind]['fields'] };

const fieldsOf = <Kind extends IntentKind>(kinds: readonly Kind[]): FieldsOf<Kind> =>
  Object.fromEntries(kinds.map((kind) => [kind, intents[kind].fields])) as unknown as FieldsOf<Kind>;

const kinds = Object.keys(intents) as readonly IntentKind[];

export const nodeIntents = kinds.filter((kind): kind is NodeIntentKind => rowOf(kind).ofNodes === true);

const messageKinds = kinds.filter((kind): kind is MessageKind => rowOf(kind).by !== 'itself');

/** What a message may request of a machine. */
export const machineIntent = variants('kind', fieldsOf(messageKinds));
export type MessageIntent = ValueOf<typeof machineIntent>;
export type MachineIntent = MessageIntent | { readonly kind: 'register' };
/** What people may request. */
export type MachineRequestIntent = IntentOf<RequestKind>;
export type IntentOf<Kind extends IntentKind> = Extract<MachineIntent, { readonly kind: Kind }>;

export const nodeIntent = variants('kind', fieldsOf(nodeIntents));
export type NodeIntent = ValueOf<typeof nodeIntent>;

export function rowOf(kind: IntentKind): Row {
  return intents[kind];
}
