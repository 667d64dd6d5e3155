import { notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { tagNames } from '../model/names.js';
import type { ImageInput, Knowledge, MachineInput } from '../plugins/contract.js';
import { readKnowledge, readLoad, readSize } from '../schema/machine-answer.js';
import { cancelAtCall, forEachCall, lacksProxy } from './api-faults.js';
import { answerOf, bringPower, misled, orUnknown, silentFields, untilDone } from './machine-answers.js';
import { isMarked, mark } from './machine-mark.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';
import type { MachineVerb } from './provider-options.js';
import { lookedAtCalls } from './provider-power-cases.js';
import { list } from './provider-upload-cases.js';
import type { Case } from './runner.js';
import { failureOf } from './until.js';

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

/** An image as a case requests it; the same token makes the same request. */
type Order = Pick<ImageInput, 'image' | 'providerImage' | 'token' | 'imageTags'>;
type ImageVerb = 'load' | 'capture' | 'retrieveImage';

/** What a provider does with images of existing machines. */
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
    title: 'puts an image onto a machine once for a token: a second call writes nothing',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const order = orderOf(bench, bench.opened.account.image);
        await bringTo(bench, subject, 'load', order);
        await mark(bench, subject);
        await bringTo(bench, subject, 'load', order);
        ok(await isMarked(bench, subject), 'the second call changed the machine');
      }),
  },
  {
    id: 'load-absent',
    title: 'loads nothing if there is no such image, and leaves the machine unchanged',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        await mark(bench, subject);
        // Only this kind says that the machine is not to blame.
        await failureOf(callImage(bench, subject, 'load', orderOf(bench)), ['ImageUnusable']);
        ok(await isMarked(bench, subject), 'the call changed the machine');
      }),
  },
  {
    id: 'load-other-key',
    title: 'loads nothing onto the machine of another key, even with its id',
    run: (bench) =>
      withMachine(bench, async (victim) => {
        await mark(bench, victim);
        await expectAnswer('not done', 'load', () =>
          callImage(bench, misled(bench, victim), 'load', orderOf(bench, bench.opened.account.image)),
        );
        ok(await isMarked(bench, victim), 'the call changed the machine');
      }),
  },
  {
    id: 'load-lost',
    title: 'continues a load whose response was lost, whichever API call that was',
    lacks: lacksProxy,
    run: (bench) =>
      withMachine(bench, async (subject) => {
        await forEachCall(bench, 'lose', lookedAtCalls, async () => {
          const order = orderOf(bench, bench.opened.account.image);
          await expectNotRefused(() => callImage(bench, subject, 'load', order));
          bench.proxy?.clear();
          await bringTo(bench, subject, 'load', order);
        });
      }),
  },
];

const capture: readonly Case<ImageCaseId, ProviderBench>[] = [
  {
    id: 'capture',
    title: 'makes an image of a machine once for a token, with a size, and with its tags if it lists images',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const order = orderOf(bench);
        strictEqual((await existence(bench, subject, order)).is, 'no', 'an image that does not exist yet');
        await withImage(bench, order, async () => {
          await bringTo(bench, subject, 'capture', order);
          strictEqual((await existence(bench, subject, order)).is, 'yes', 'the captured image');
          const { sizeMb = 0, why = '' } = readSize(
            await bench.act(subject, (provider, machine) => provider.imageSize?.(inputOf(machine, order))),
            { plugin: 'suite', method: 'imageSize' },
          );
          ok(sizeMb > 0, `the size of the image is unknown ${why}`);
          await bringTo(bench, subject, 'capture', order);
          if (bench.has('listImages')) await expectListed(bench, order);
        });
      }),
  },
  {
    id: 'capture-target',
    title: 'captures nothing over an existing image',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const order = orderOf(bench);
        await withImage(bench, order, async () => {
          await bringTo(bench, subject, 'capture', order);
          await expectAnswer('not done', 'capture over an existing image', () =>
            callImage(bench, subject, 'capture', { ...order, token: randomUUID() }),
          );
          strictEqual((await existence(bench, subject, order)).is, 'yes', 'the existing image');
        });
      }),
  },
  {
    id: 'capture-other-key',
    title: "captures nothing of another key's machine, even with its id",
    run: (bench) =>
      withMachine(bench, async (victim) => {
        const order = orderOf(bench);
        await expectAnswer('not done', 'capture', () =>
          callImage(bench, misled(bench, victim), 'capture', order),
        );
        notStrictEqual((await existence(bench, victim, order)).is, 'yes', 'the image');
      }),
  },
  {
    id: 'capture-lost',
    title: 'continues a capture whose response was lost, whichever API call that was, and keeps its image',
    lacks: lacksProxy,
    run: (bench) =>
      withMachine(bench, async (subject) => {
        await forEachCall(bench, 'lose', lookedAtCalls, async () => {
          const order = orderOf(bench);
          await expectNotRefused(() => callImage(bench, subject, 'capture', order));
          bench.proxy?.clear();
          await withImage(bench, order, () => bringTo(bench, subject, 'capture', order));
        });
      }),
  },
  {
    id: 'capture-cancel',
    title: 'ends a cancelled capture, whichever API call hangs, and leaves a whole image or none',
    lacks: lacksProxy,
    run: (bench) =>
      withMachine(bench, async (subject) => {
        await forEachCall(bench, 'hold', lookedAtCalls, async ({ number }) => {
          const order = orderOf(bench);
          await cancelAtCall(bench, number, (signal) =>
            callImage(bench, subject, 'capture', order, { signal }),
          );
          bench.proxy?.clear();
          // Whatever the cancelled call left, the same capture ends with a whole image.
          await withImage(bench, order, () => bringTo(bench, subject, 'capture', order));
        });
      }),
  },
];

const silent: readonly Case<ImageCaseId, ProviderBench>[] = [
  {
    id: 'image-silent',
    title: 'reports unknown when nothing answers: for images, loads and captures',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        const options = silentFields(bench);
        const order = orderOf(bench);
        if (bench.has('imageExists'))
          strictEqual((await existence(bench, subject, order, options)).is, 'unknown', 'an image');
        for (const verb of ['load', 'capture'] as const) {
          if (bench.has(verb))
            await expectAnswer('unknown', `${verb} without a response`, () =>
              callImage(bench, subject, verb, order, options),
            );
        }
      }),
  },
];

const retrieve: readonly Case<ImageCaseId, ProviderBench>[] = [
  {
    id: 'retrieve',
    title: 'has what is in its library already, and refuses what is nowhere',
    run: (bench) =>
      withMachine(bench, async (subject) => {
        await bringTo(bench, subject, 'retrieveImage', orderOf(bench, bench.opened.account.image));
        await expectAnswer('not done', 'an image that does not exist', () =>
          callImage(bench, subject, 'retrieveImage', orderOf(bench)),
        );
      }),
  },
];

/** Runs on a machine that is ready, and off where the provider can switch it. */
async function withMachine(bench: ProviderBench, use: (subject: Subject) => Promise<void>): Promise<void> {
  await bench.withReady(async (subject) => {
    await bringPower(bench, subject, 'powerOff');
    try {
      await use(subject);
    } finally {
      bench.proxy?.clear();
      // A registered machine stays as it is for the next case.
      await bringPower(bench, subject, 'powerOn');
    }
  });
}

/** A request for an image that the provider has, or for one that does not exist yet. */
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

function inputOf(machine: MachineInput, order: Order): ImageInput {
  return { ...machine, ...order, progress: () => undefined };
}

async function callImage(
  bench: ProviderBench,
  subject: Subject,
  verb: ImageVerb,
  order: Order,
  options?: CallOptions,
): Promise<unknown> {
  const returned = await bench.act<unknown>(
    subject,
    (provider, machine) => provider[verb]?.(inputOf(machine, order)),
    options,
  );
  if (verb !== 'load') return returned;
  // Only a load may report that it left the disk untouched.
  const { untouched: _untouched, ...outcome } = readLoad(returned, { plugin: 'suite', method: verb });
  return outcome;
}

function bringTo(bench: ProviderBench, subject: Subject, verb: ImageVerb, order: Order): Promise<void> {
  return untilDone(bench, verb, () => callImage(bench, subject, verb, order));
}

async function expectAnswer(
  expected: 'not done' | 'unknown',
  what: string,
  call: () => Promise<unknown>,
): Promise<void> {
  strictEqual(await answerOf(call), expected, what);
}

async function expectNotRefused(call: () => Promise<unknown>): Promise<void> {
  notStrictEqual(await answerOf(call), 'not done', 'a call whose response was lost');
}

function existence(
  bench: ProviderBench,
  subject: Subject,
  order: Order,
  options?: CallOptions,
): Promise<Knowledge> {
  return orUnknown(async () =>
    readKnowledge(
      await bench.act(
        subject,
        (provider, machine) => provider.imageExists?.(inputOf(machine, order)),
        options,
      ),
      { plugin: 'suite', method: 'imageExists' },
    ),
  );
}

/** Deletes the case's image afterwards, if the provider can. */
async function withImage(bench: ProviderBench, order: Order, use: () => Promise<void>): Promise<void> {
  try {
    await use();
  } finally {
    bench.proxy?.clear();
    const { imageTags: tags, ...image } = order;
    const input = { ...image, tags, progress: () => undefined };
    if (bench.has('deleteImage'))
      await untilDone(bench, 'deleteImage', () =>
        bench.ask<unknown>((provider) => provider.deleteImage?.(input)),
      );
  }
}

async function expectListed(bench: ProviderBench, { imageTags = {} }: Order): Promise<void> {
  const [found] = await bench.until('the image to be listed by its tags', async () => {
    const listed = await list(bench, imageTags);
    return listed.length > 0 && listed;
  });
  for (const [name, value] of Object.entries(imageTags))
    strictEqual(found?.tags[name], value, `the tag ${name} differs`);
}
