import { notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { tagNames } from '../model/names.js';
import type { ImageInput, Knowledge, MachineInput } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import type { ProviderWithAbilities } from '../plugins/registry.js';
import { readImages, readKnowledge, readLoad, readSize } from '../schema/machine-answer.js';
import { isMarked, mark } from './machine-mark.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';
import { misled } from './provider-life-cases.js';
import {
  answerOf,
  lookedAtCalls,
  silentFields,
  switchOff,
  switchOn,
  untilDone,
  type MachineVerb,
} from './provider-power-cases.js';
import type { CallFault } from './proxy.js';
import type { Case } from './runner.js';
import { until } from './until.js';

export type ImageCaseId =
  | 'load'
  | 'load-absent'
  | 'load-other-key'
  | 'load-lost'
  | 'capture'
  | 'capture-other-key'
  | 'capture-target'
  | 'capture-lost'
  | 'capture-cancel'
  | 'image-silent'
  | 'retrieve';

/** An image as a case orders it; who orders it again with the same token orders the same. */
type Order = Pick<ImageInput, 'image' | 'providerImage' | 'token' | 'imageTags'>;
type ImageVerb = 'load' | 'capture' | 'retrieveImage';

/** What a provider does with images and machines that are there. */
export function imageCases(verbs: readonly MachineVerb[]): readonly Case<ImageCaseId, ProviderBench>[] {
  const [loads, captures] = [verbs.includes('load'), verbs.includes('capture')];
  return [
    ...(loads ? load : []),
    ...(captures ? capture : []),
    ...(loads || captures ? silent : []),
    ...(verbs.includes('retrieve') ? retrieve : []),
  ];
}

const load: readonly Case<ImageCaseId, ProviderBench>[] = [
  {
    id: 'load',
    title: 'puts an image onto a machine, once for a token: asked again it writes nothing',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const order = orderOf(bench, bench.kind.image);
        await bringTo(bench, subject, 'load', order);
        await mark(bench, subject);
        await bringTo(bench, subject, 'load', order);
        ok(await isMarked(bench, subject), 'the second time has changed the machine');
      }),
  },
  {
    id: 'load-absent',
    title: 'loads nothing where there is no such image, and leaves the machine as it was',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        await mark(bench, subject);
        strictEqual(
          await answerOf(() => carryOut(bench, subject, 'load', orderOf(bench))),
          'not done',
          'a load of an image that is not there',
        );
        ok(await isMarked(bench, subject), 'it has changed the machine');
      }),
  },
  {
    id: 'load-other-key',
    title: 'loads nothing onto the machine of another key, even when it is given its id',
    run: (bench) =>
      withMachine(bench, async (victim) => {
        await mark(bench, victim);
        const order = orderOf(bench, bench.kind.image);
        strictEqual(await answerOf(() => carryOut(bench, misled(bench, victim), 'load', order)), 'not done');
        ok(await isMarked(bench, victim), 'it has changed the machine');
      }),
  },
  {
    id: 'load-lost',
    title: 'goes on with a load whose answer was lost, whichever call of its API it was of',
    lacks: lacksProxy,
    run: (bench) =>
      withMachine(bench, (subject) =>
        eachCall(bench, 'lose', async () => {
          const order = orderOf(bench, bench.kind.image);
          notStrictEqual(
            await answerOf(() => carryOut(bench, subject, 'load', order)),
            'not done',
            'a load whose answer was lost',
          );
          return () => bringTo(bench, subject, 'load', order);
        }),
      ),
  },
];

const capture: readonly Case<ImageCaseId, ProviderBench>[] = [
  {
    id: 'capture',
    title:
      'makes an image of a machine, once for a token, with a size and with its tags where it lists images',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const order = orderOf(bench);
        strictEqual((await existence(bench, subject, order)).is, 'no', 'an image that nobody made');
        await withImage(bench, order, async () => {
          await bringTo(bench, subject, 'capture', order);
          strictEqual((await existence(bench, subject, order)).is, 'yes', 'the image that was captured');
          const { sizeMb, why } = readSize(
            await bench.act(subject, (provider, machine) => provider.imageSize?.(input(machine, order))),
            { plugin: 'suite', method: 'imageSize' },
          );
          ok(sizeMb !== undefined && sizeMb > 0, `its size is ${sizeMb ?? 'not known'} ${why ?? ''}`);
          await bringTo(bench, subject, 'capture', order);
          if (bench.plugin.abilities.includes('listImages')) await isListed(bench, order);
        });
      }),
  },
  {
    id: 'capture-target',
    title: 'captures nothing over an image that is there',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const order = orderOf(bench);
        await withImage(bench, order, async () => {
          await bringTo(bench, subject, 'capture', order);
          strictEqual(
            await answerOf(() => carryOut(bench, subject, 'capture', { ...order, token: randomUUID() })),
            'not done',
            'a capture over an image that is there',
          );
          strictEqual((await existence(bench, subject, order)).is, 'yes', 'the image that was there');
        });
      }),
  },
  {
    id: 'capture-other-key',
    title: "captures nothing of another key's machine, even when it is given its id",
    run: (bench) =>
      withMachine(bench, async (victim) => {
        const order = orderOf(bench);
        strictEqual(
          await answerOf(() => carryOut(bench, misled(bench, victim), 'capture', order)),
          'not done',
        );
        notStrictEqual((await existence(bench, victim, order)).is, 'yes', 'the image');
      }),
  },
  {
    id: 'capture-lost',
    title:
      'goes on with a capture whose answer was lost, whichever call of its API it was of, and takes what it made for its own',
    lacks: lacksProxy,
    run: (bench) =>
      withMachine(bench, (subject) =>
        eachCall(bench, 'lose', async () => {
          const order = orderOf(bench);
          notStrictEqual(
            await answerOf(() => carryOut(bench, subject, 'capture', order)),
            'not done',
            'a capture whose answer was lost',
          );
          return () => withImage(bench, order, () => bringTo(bench, subject, 'capture', order));
        }),
      ),
  },
  {
    id: 'capture-cancel',
    title:
      'ends a capture that is cancelled, whichever call of its API hangs, and leaves a whole image or none',
    lacks: lacksProxy,
    run: (bench) =>
      withMachine(bench, (subject) =>
        eachCall(bench, 'hold', async (number) => {
          const order = orderOf(bench);
          const cancel = new AbortController();
          let over = false;
          const call = carryOut(bench, subject, 'capture', order, { signal: cancel.signal })
            .then(
              () => 'captured',
              (error: unknown) => error,
            )
            .finally(() => {
              over = true;
            });
          await until(
            'the call that hangs',
            () => Promise.resolve(over || (bench.proxy?.calls() ?? 0) >= number),
            bench.patienceMs,
          );
          if (!over) {
            cancel.abort(new Error('the capture was cancelled'));
            ok((await call) instanceof Error, 'it was cancelled, and ended as if nothing had happened');
          }
          // Whatever it left, the same capture ends with a whole image.
          return () => withImage(bench, order, () => bringTo(bench, subject, 'capture', order));
        }),
      ),
  },
];

const silent: readonly Case<ImageCaseId, ProviderBench>[] = [
  {
    id: 'image-silent',
    title: 'knows nothing of images where nobody answers, and has neither loaded nor captured',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const options = { fields: silentFields(bench) };
        const order = orderOf(bench);
        if (bench.plugin.abilities.includes('imageExists'))
          strictEqual(
            (await existence(bench, subject, order, options)).is,
            'unknown',
            'an image of which nobody tells',
          );
        for (const verb of ['load', 'capture'] as const) {
          if (bench.plugin.abilities.includes(verb))
            strictEqual(
              await answerOf(() => carryOut(bench, subject, verb, order, options)),
              'unknown',
              `${verb} that nobody answered`,
            );
        }
      }),
  },
];

const retrieve: readonly Case<ImageCaseId, ProviderBench>[] = [
  {
    id: 'retrieve',
    title: 'has what is in its library already, and says so of what is nowhere',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        await bringTo(bench, subject, 'retrieveImage', orderOf(bench, bench.kind.image));
        strictEqual(
          await answerOf(() => carryOut(bench, subject, 'retrieveImage', orderOf(bench))),
          'not done',
          'an image that is nowhere',
        );
      }),
  },
];

function lacksProxy({ proxy }: ProviderBench): string | undefined {
  return proxy === undefined ? "options.endpoint names no field with the API's address" : undefined;
}

/** A machine that is there, switched off where it can be. */
async function withMachine(bench: ProviderBench, use: (subject: Subject) => Promise<void>): Promise<void> {
  await bench.with(async (subject) => {
    await bench.up(subject);
    await switchOff(bench, subject);
    try {
      await use(subject);
    } finally {
      bench.proxy?.clear();
      // A machine that exists is not made anew for the next case.
      await switchOn(bench, subject);
    }
  });
}

/** Of an image that the provider has, or of one that nobody made yet. */
function orderOf({ installation }: ProviderBench, providerImage?: string): Order {
  const uid = randomUUID();
  const name = `suite-${uid.slice(0, 8)}`;
  return {
    image: { name, revision: '1' },
    providerImage: providerImage ?? `${name}@1`,
    token: `${uid}/1/suite`,
    imageTags: {
      [tagNames.installation]: installation,
      [tagNames.key]: uid,
      [tagNames.cluster]: `image/${name}`,
    },
  };
}

function input(machine: MachineInput, order: Order): ImageInput {
  return { ...machine, ...order, progress: () => undefined };
}

async function carryOut(
  bench: ProviderBench,
  subject: Subject,
  verb: ImageVerb,
  order: Order,
  options: CallOptions = {},
): Promise<unknown> {
  const returned = await bench.act<unknown>(
    subject,
    (provider, machine) => provider[verb]?.(input(machine, order)),
    options,
  );
  if (verb !== 'load') return returned;
  // Only a load may say that it left the disk untouched.
  const { untouched: _untouched, ...outcome } = readLoad(returned, { plugin: 'suite', method: verb });
  return outcome;
}

function bringTo(bench: ProviderBench, subject: Subject, verb: ImageVerb, order: Order): Promise<void> {
  return untilDone(verb, () => carryOut(bench, subject, verb, order), bench.patienceMs);
}

async function existence(
  bench: ProviderBench,
  subject: Subject,
  order: Order,
  options: CallOptions = {},
): Promise<Knowledge> {
  try {
    return readKnowledge(
      await bench.act(subject, (provider, machine) => provider.imageExists?.(input(machine, order)), options),
      { plugin: 'suite', method: 'imageExists' },
    );
  } catch (error) {
    if (!isPluginError(error)) throw error;
    return { is: 'unknown', why: error.message };
  }
}

/** Whatever came of a case, its image goes, where images can be deleted. */
async function withImage(bench: ProviderBench, order: Order, use: () => Promise<void>): Promise<void> {
  try {
    await use();
  } finally {
    bench.proxy?.clear();
    if (bench.plugin.abilities.includes('deleteImage'))
      await untilDone(
        'deleteImage',
        () =>
          bench.ask<unknown>(
            (provider: ProviderWithAbilities) =>
              provider.deleteImage?.({ ...order, progress: () => undefined }),
            {},
          ),
        bench.patienceMs,
      );
  }
}

async function isListed(bench: ProviderBench, { imageTags = {} }: Order): Promise<void> {
  const list = async (tags: Readonly<Record<string, string>>) =>
    readImages(await bench.ask((provider) => provider.listImages?.(tags), {}), {
      plugin: 'suite',
      method: 'listImages',
    });
  const [found] = await until(
    'the image to be listed by its tags',
    async () => {
      const listed = await list(imageTags);
      return listed.length > 0 && listed;
    },
    bench.patienceMs,
  );
  for (const [name, value] of Object.entries(imageTags))
    strictEqual(found?.tags[name], value, `the tag ${name} is another one`);
}

/**
 * Does it once for each of the first calls that a verb makes: the first time with its first call gone wrong,
 * and so on.
 */
async function eachCall(
  bench: ProviderBench,
  kind: CallFault['kind'] & ('lose' | 'hold'),
  act: (number: number) => Promise<() => Promise<void>>,
): Promise<void> {
  const { proxy } = bench;
  if (proxy === undefined) return;
  for (let number = 1; number <= lookedAtCalls; number += 1) {
    let met = false;
    proxy.set((call) => {
      if (call.number !== number) return undefined;
      met = true;
      return { kind };
    });
    const rest = await act(number);
    // What hangs goes on hanging until the proxy is closed; only new calls pass.
    proxy.clear();
    await rest();
    if (!met) return;
  }
}
