import { z } from 'zod';
import { PluginError, type AccountQuota } from '../../contract.js';
import type { Session } from './session.js';

const flavorsSchema = z.object({ flavors: z.array(z.object({ id: z.string(), name: z.string() })) });
const imagesSchema = z.object({ images: z.array(z.object({ id: z.string(), name: z.string().nullish() })) });

const uuid = /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i;

/** How long an id is believed, in ms: a name may come to mean another image. */
const rememberedMs = 60_000;

/**
 * Ids that this process looked up, by account and name: a large cluster asks for the same ones a thousand
 * times.
 */
const remembered = new Map<string, { readonly id: string; readonly until: number }>();

async function remember(session: Session, name: string, lookUp: () => Promise<string>): Promise<string> {
  const key = `${session.account} ${name}`;
  const known = remembered.get(key);
  if (known !== undefined && known.until > Date.now()) return known.id;
  const id = await lookUp();
  for (const [old, { until }] of remembered) if (until < Date.now()) remembered.delete(old);
  remembered.set(key, { id, until: Date.now() + rememberedMs });
  return id;
}

/** The id of a flavor by its name or id. @throws PluginError Invalid that says which there are. */
export function flavorId(session: Session, flavor: string): Promise<string> {
  return remember(session, `flavor ${flavor}`, () => findFlavor(session, flavor));
}

/** The id of an image by its name or id; a name that several have says nothing. */
export function imageId(session: Session, image: string): Promise<string> {
  return uuid.test(image)
    ? Promise.resolve(image)
    : remember(session, `image ${image}`, () => findImage(session, image));
}

/** @throws PluginError Invalid if there is no such image, also by an id, which CREATE passes on unseen. */
export async function requireImage(session: Session, image: string): Promise<void> {
  if (!uuid.test(image)) return void (await imageId(session, image));
  if ((await imagesOf(session, 'id', image)).length === 0) throw noImage(image);
}

async function findFlavor(session: Session, flavor: string): Promise<string> {
  const { flavors } = await session.read(flavorsSchema, 'compute', {
    method: 'GET',
    path: '/flavors?limit=1000',
  });
  const found = flavors.find(({ id, name }) => id === flavor || name === flavor);
  if (found !== undefined) return found.id;
  throw new PluginError(
    'Invalid',
    `flavor ${flavor} does not exist in this project; its flavors are ${
      flavors
        .map(({ name }) => name)
        .slice(0, 30)
        .join(', ') || 'none'
    }`,
  );
}

async function findImage(session: Session, image: string): Promise<string> {
  const images = await imagesOf(session, 'name', image);
  const [first] = images;
  if (first === undefined) throw noImage(image);
  if (images.length === 1) return first.id;
  throw new PluginError(
    'Invalid',
    `${images.length} images are named ${image}: use the id of one (${images.map(({ id }) => id).join(', ')})`,
  );
}

async function imagesOf(
  session: Session,
  key: 'id' | 'name',
  value: string,
): Promise<z.output<typeof imagesSchema>['images']> {
  const path = `/images?status=active&${key}=${encodeURIComponent(`in:"${value.replaceAll('"', '\\"')}"`)}`;
  return (await session.read(imagesSchema, 'image', { method: 'GET', path })).images;
}

function noImage(image: string): PluginError {
  return new PluginError(
    'Invalid',
    `image ${image} does not exist, is not active, or is not shared with this project`,
  );
}

const sizesSchema = z.object({
  flavors: z.array(z.object({ id: z.string(), name: z.string(), vcpus: z.number(), ram: z.number() })),
});

/** What machines of these flavors take, by name or id. */
export async function flavorSizes(
  session: Session,
  wanted: readonly string[],
): Promise<NonNullable<AccountQuota['sizes']>> {
  if (wanted.length === 0) return {};
  const { flavors } = await session.read(sizesSchema, 'compute', {
    method: 'GET',
    path: '/flavors/detail?limit=1000',
  });
  return Object.fromEntries(
    wanted.flatMap((flavor) => {
      const found = flavors.find(({ id, name }) => id === flavor || name === flavor);
      return found === undefined ? [] : [[flavor, { cores: found.vcpus, memory: found.ram }]];
    }),
  );
}

const limitsSchema = z.object({
  limits: z.object({
    absolute: z.object({
      maxTotalInstances: z.number(),
      maxTotalCores: z.number(),
      maxTotalRAMSize: z.number(),
      totalInstancesUsed: z.number(),
      totalCoresUsed: z.number(),
      totalRAMUsed: z.number(),
    }),
  }),
});

export async function projectQuota(session: Session): Promise<AccountQuota> {
  const { limits } = await session.read(limitsSchema, 'compute', { method: 'GET', path: '/limits' });
  const {
    maxTotalInstances,
    maxTotalCores,
    maxTotalRAMSize,
    totalInstancesUsed,
    totalCoresUsed,
    totalRAMUsed,
  } = limits.absolute;
  const allowed = { nodes: maxTotalInstances, cores: maxTotalCores, memory: maxTotalRAMSize };
  return {
    limits: Object.fromEntries(Object.entries(allowed).filter(([, amount]) => amount >= 0)),
    used: { nodes: totalInstancesUsed, cores: totalCoresUsed, memory: totalRAMUsed },
  };
}
