import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { purposeOf, type MessageKind } from '../../../src/model/messages/envelope.js';
import type { Seal } from '../../../src/model/messages/seal.js';
import { nothingTaken, numberedSignals } from '../../../src/model/messages/taken.js';
import { checkArguments } from '../../../src/model/messages/table.js';

export interface Attack {
  readonly what: string;
  /** `plain`: it encrypts nothing. `unsealed`: it has the keys, and sends exactly these arguments. */
  readonly client: 'plain' | 'unsealed';
  readonly args: readonly unknown[];
  /** What the refusal says: it must come from the guard, and not from the state of the workflow. */
  readonly says: RegExp;
}

/** A seal that a client would make now, for the workflow that runs. */
export function sealNow(more: Seal = {}): Seal {
  return { id: randomUUID(), at: Date.now(), ...more };
}

const notSealed = /was not sent by Heddle's client/;
const misshapen =
  /is missing, and must be|, and must be|is not a field|must not have|is larger than|arguments; the maximum is/;

/** Every way to send a message whose arguments were not sealed for it. */
export function attacksOn(kind: MessageKind, name: string, sample: readonly unknown[]): readonly Attack[] {
  const purpose = purposeOf(kind, name);
  const seal = (args: readonly unknown[], heddleText = purpose, more: object = {}): readonly unknown[] => [
    { heddle: heddleText, args, ...more },
  ];
  return [
    { what: 'no keys, sealed in form', client: 'plain', args: seal(sample), says: /not encrypted/ },
    {
      what: 'no keys, bare arguments',
      client: 'plain',
      args: sample,
      says: sample.length === 0 ? notSealed : /not encrypted/,
    },
    { what: 'no arguments at all', client: 'plain', args: [], says: notSealed },
    ...(sample.length === 0
      ? []
      : [{ what: 'encrypted, not sealed', client: 'unsealed' as const, args: sample, says: notSealed }]),
    {
      what: 'a payload of another message',
      client: 'unsealed',
      args: seal(sample, 'update somethingElse'),
      says: /belongs to the message "update somethingElse"/,
    },
    {
      what: 'a payload of another kind',
      client: 'unsealed',
      args: seal(sample, purposeOf(kind === 'update' ? 'signal' : 'update', name)),
      says: /belongs to the message/,
    },
    {
      what: 'an expired payload of the codec server',
      client: 'unsealed',
      args: seal(sample, '*', { until: 1 }),
      says: /too long ago/,
    },
    {
      what: 'a payload of the codec server that never expires',
      client: 'unsealed',
      args: seal(sample, '*'),
      says: /too long ago/,
    },
    // The handlers of numbered signals refuse those of others.
    ...(kind === 'update' || (kind === 'signal' && !numberedSignals.includes(name))
      ? sealedForOthers(seal, sample)
      : []),
    ...(kind === 'start' ? startsOfOthers(seal, sample) : []),
    {
      what: 'a mark of a worker',
      client: 'unsealed',
      args: [{ heddleRefused: 'refused already' }],
      says: /refused already/,
    },
  ];
}

type SealSample = (args: readonly unknown[], purpose?: string, more?: object) => readonly unknown[];

/** What is sealed for the message, and not for this workflow. */
function sealedForOthers(seal: SealSample, sample: readonly unknown[]): readonly Attack[] {
  const attack = attackOf(seal, sample);
  return [
    attack('sealed without an id', { at: Date.now() }, /without an id and a time/),
    attack('sealed without a time', { id: 'one' }, /without an id and a time/),
    attack('an id that is too long', sealNow({ id: 'x'.repeat(100) }), /without an id and a time/),
    attack('sealed for an earlier workflow of this name', sealNow({ to: randomUUID() }), anotherWorkflow),
    attack('sealed before this workflow began', sealNow({ at: Date.now() - 3_600_000 }), anotherWorkflow),
    attack('sealed by a clock that is ahead', sealNow({ at: Date.now() + 3_600_000 }), /clock that is ahead/),
  ];
}

/** Starts that are valid in another way than by a client, now. */
function startsOfOthers(seal: SealSample, sample: readonly unknown[]): readonly Attack[] {
  const attack = attackOf(seal, sample);
  const after = { run: randomUUID(), began: 0, taken: nothingTaken };
  return [
    attack('sealed without an id', { at: Date.now() }, /without an id and a time/),
    attack('sealed too long ago', sealNow({ at: Date.now() - 3_600_000 }), /sealed too long ago/),
    attack('sealed by a clock that is ahead', sealNow({ at: Date.now() + 3_600_000 }), /clock that is ahead/),
    attack('the state of another run', { after }, /a run that this run does not continue/),
    attack('the start of a child', { parent: randomUUID() }, /another run of the parent/),
    attack('the start of a Schedule', { scheduled: true }, /belongs to a Schedule/),
  ];
}

function attackOf(
  seal: SealSample,
  sample: readonly unknown[],
): (what: string, more: Seal, says: RegExp) => Attack {
  return (what, more, says) => ({ what, client: 'unsealed', args: seal(sample, undefined, more), says });
}

const anotherWorkflow = /was sealed for another workflow of this name/;

/** Sealed arguments of another shape than the sample's, by a client that has the keys. */
function misshapenFrom(sample: readonly unknown[]): ReadonlyMap<string, readonly (readonly unknown[])[]> {
  const each = (change: (value: unknown) => unknown): readonly (readonly unknown[])[] =>
    sample.map((value, index) => sample.map((other, at) => (at === index ? change(value) : other)));
  return new Map([
    ['missing argument', sample.map((_, index) => sample.slice(0, index))],
    ['wrong type', [null, 5, 'text', [], [5], {}, true, { by: 5 }].flatMap((value) => each(() => value))],
    [
      'oversized',
      [600, 70_000, 1_000_001].flatMap((length) => [
        ...each((value) => inflate(value, length)),
        ...each(() => Array.from({ length: length / 6 }, () => 'x')),
      ]),
    ],
    [
      '__proto__ key',
      each((value) =>
        isObject(value)
          ? withProto(value)
          : Array.isArray(value) && isObject(value[0])
            ? [withProto(value[0])]
            : withProto({}),
      ),
    ],
    ['one argument too many', [[...sample, { by: 'mallory' }]]],
  ]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Every text in it becomes so long, and every object gets a text so long. */
function inflate(value: unknown, length: number): unknown {
  if (typeof value === 'string') return 'x'.repeat(length);
  if (Array.isArray(value)) return value.map((entry) => inflate(entry, length));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries({ ...value, more: '' }).map(([key, entry]: [string, unknown]) => [
      key,
      typeof entry === 'string' ? 'x'.repeat(length) : entry,
    ]),
  );
}

/** An own key `__proto__`, as JSON from a network may have it. */
function withProto(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value).replace(
      '{',
      `{"__proto__":{"by":"mallory"}${Object.keys(value).length === 0 ? '' : ','}`,
    ),
  );
}

/**
 * The misshapen arguments that the table refuses; a kind that it refuses none of is a hole, unless there is
 * nothing to misshape.
 */
export function malformed(
  kind: MessageKind,
  name: string,
  row: { readonly shapes: Parameters<typeof checkArguments>[0]; readonly sample: readonly unknown[] },
): readonly Attack[] {
  const { shapes, sample } = row;
  return [...misshapenFrom(sample)].flatMap(([what, all]) => {
    const refused = all.filter(
      (args) => checkArguments(shapes, JSON.parse(JSON.stringify(args)) as unknown[]) !== undefined,
    );
    const accepts =
      what === 'missing argument' && sample.length > 0 && checkArguments(shapes, []) === undefined;
    if (sample.length > 0 && !accepts) expect(refused, `${what} of ${purposeOf(kind, name)}`).not.toEqual([]);
    // The smallest that are too large: a server does not take many large messages at once.
    return refused
      .slice(0, what === 'oversized' ? 2 : 8)
      .map((args): Attack => ({
        what,
        client: 'unsealed',
        args: [{ heddle: purposeOf(kind, name), args }],
        says: misshapen,
      }));
  });
}
