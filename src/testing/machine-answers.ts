import { notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Outcome, PowerReading } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { readOutcome, readPower } from '../schema/machine-answer.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';

/** Kinds of failure that leave open whether anything was done. */
const unknownKinds: readonly string[] = ['Retryable', 'NotReady', 'UnknownOutcome'];

/** The outcome of a call, as the engine reads it. @throws anything but a PluginError */
export async function answerOf(call: () => Promise<unknown>): Promise<Outcome['answer']> {
  try {
    return readOutcome(await call(), { plugin: 'suite', method: 'verb' }).answer;
  } catch (error) {
    if (!isPluginError(error)) throw error;
    return unknownKinds.includes(error.kind) ? 'unknown' : 'not done';
  }
}

/** Repeats a call while its outcome is unknown, as the engine does. */
export async function untilDone(
  bench: ProviderBench,
  what: string,
  call: () => Promise<unknown>,
): Promise<void> {
  await bench.until(`${what} to be done`, async () => {
    const answer = await answerOf(call);
    notStrictEqual(answer, 'not done', `${what} returns that it was not done`);
    return answer === 'done';
  });
}

/** What a plugin reports; unknown if it throws a PluginError. */
export async function orUnknown<Reading>(
  read: () => Promise<Reading>,
): Promise<Reading | { readonly is: 'unknown'; readonly why: string }> {
  try {
    return await read();
  } catch (error) {
    if (!isPluginError(error)) throw error;
    return { is: 'unknown', why: error.message };
  }
}

type PowerVerb = 'powerOn' | 'powerOff' | 'powerReset';

export function callPower(
  bench: ProviderBench,
  subject: Subject,
  verb: PowerVerb,
  options?: CallOptions,
): Promise<unknown> {
  return bench.act<unknown>(subject, (provider, machine) => provider[verb]?.(machine), options);
}

/** Switches a machine, unless its provider has no such method. */
export async function bringPower(bench: ProviderBench, subject: Subject, verb: PowerVerb): Promise<void> {
  if (bench.has(verb)) await untilDone(bench, verb, () => callPower(bench, subject, verb));
}

export async function powerOf(
  bench: ProviderBench,
  subject: Subject,
  options?: CallOptions,
): Promise<PowerReading> {
  const reading = await orUnknown(async () =>
    readPower(await bench.act(subject, (provider, machine) => provider.powerStatus?.(machine), options), {
      plugin: 'suite',
      method: 'powerStatus',
    }),
  );
  return 'is' in reading ? { power: 'unknown', why: reading.why } : reading;
}

export async function expectPower(
  bench: ProviderBench,
  subject: Subject,
  expected: 'on' | 'off',
): Promise<void> {
  const { power, why = '' } = await powerOf(bench, subject);
  strictEqual(power, expected, `the machine is ${expected}, and the provider reports ${power} ${why}`);
}

/** Fields of an account whose API does not answer. */
export function silentFields({ opened }: ProviderBench): CallOptions {
  const { options, fields } = opened;
  const silent =
    opened.silent ??
    (options.endpoint === undefined ? undefined : { ...fields, [options.endpoint]: 'http://127.0.0.1:1' });
  ok(
    silent !== undefined,
    'what options.open gives needs silent: fields of an account whose API does not answer. If there is no API, leave the case out with a reason',
  );
  return { fields: silent };
}

/** A node without a machine whose payload names the machine of another key. */
export function misled(bench: ProviderBench, { config }: Subject): Subject {
  const subject = bench.subject();
  return { ...subject, config: { ...subject.config, providerid: config['providerid'] ?? '' } };
}
