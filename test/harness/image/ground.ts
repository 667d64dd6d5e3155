import { writeFile } from 'node:fs/promises';
import { HeddleError } from '../../../src/client/errors.js';
import type { Build } from '../../../src/model/image/build.js';
import type { ImageSpec } from '../../../src/model/image/spec.js';
import type { ImageView } from '../../../src/schema/output/image.js';
import { readImageFile } from '../../../src/schema/image/read.js';
import type { Stack } from '../stack.js';
import { until } from '../until.js';

/** What tests do with images, over the client alone. */
export interface Ground {
  readonly apply: (name: string, how: object) => Promise<void>;
  /** Asks for a build and waits until one is ready. */
  readonly build: (name: string) => Promise<Build>;
  /** How it stands; a worker that is slow to answer is asked again. */
  readonly see: (name: string) => Promise<ImageView>;
  /** Whether the machine service's library has it. */
  readonly has: (image: string) => Promise<boolean>;
  readonly hostnames: () => Promise<readonly string[]>;
  /** Lets go on what waits for a file. */
  readonly openGate: (gate: string) => Promise<void>;
}

export function openGround(stack: Stack): Ground {
  const { images } = stack.client;
  return {
    apply: async (name, how) => {
      await images.apply(imageOf(name, how));
    },
    build: async (name) => {
      const { build } = await images.build(name);
      return images.waitForBuild(name, build, { everyMs: 100 });
    },
    see: (name) =>
      until(
        `image ${name} answers`,
        () =>
          images.show(name).catch((error: unknown) => {
            if (error instanceof HeddleError && error.code === 'NoWorker') return undefined;
            throw error;
          }),
        120_000,
      ),
    has: async (image) =>
      stack.service.call('GET', `/v1/images/${image}`).then(
        () => true,
        () => false,
      ),
    hostnames: async () => (await stack.service.machines()).map(({ hostname }) => String(hostname)),
    openGate: (gate) => writeFile(gate, ''),
  };
}

/** As its file would say it. */
export function imageOf(name: string, how: object): ImageSpec {
  const reading = readImageFile(JSON.stringify({ name, ...how }), 'image.yaml');
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.spec;
}

/** A service whose INSTALL leaves a file, and a line in a file outside of the machine. */
export function greeting(ledger: string, text: string): object {
  const script = `echo ${text} >"$HOME/greeting"; echo installed >>'${ledger}'`;
  return { services: { greeting: { actions: { install: { type: 'shell', fields: { script } } } } } };
}

export const recipe = { provider: 'local', hardware: 'tiny', image: 'host', services: ['greeting'] } as const;
