import { existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Gateway, socketFolder, socketOf } from './gateway.js';
import { findImage } from './image-folder.js';
import { ImageServer, type ImagingEnd } from './image-server.js';
import { exits, runFiles, type ImagingOrder } from './imaging-order.js';
import { prepareImage, UnusableImage } from './prepare-image.js';

/** More than a load may take: nobody waits for an answer any more. */
const limitMs = 3 * 3_600_000;
/** A machine that was heard, and is silent for so long, does not go on. */
const silentMs = 5 * 60_000;
const lookMs = 500;

/**
 * The program of one load: a detached run, whose directory is the current one. Its argument is the order. It prints
 * progress, and at last how the load ended.
 */
async function writeImage(
  order: ImagingOrder,
): Promise<ImagingEnd | { readonly is: 'lost'; readonly why: string }> {
  const { listen, rescue, mac, disk, images, image } = order;
  for (const name of ['kernel', 'initramfs'])
    if (!existsSync(join(rescue, name)))
      return {
        is: 'unwritten',
        why: `${rescue} has no ${name}; make the rescue system: heddle image rescue ${rescue}`,
      };
  const found = await findImage(images, image);
  if (found.image === undefined)
    return { is: 'unwritten', why: found.why ?? `there is no image ${image} in ${images}` };
  const raw = await prepareImage(found.image, join(process.cwd(), runFiles.copy), print).catch(
    (error: unknown) => {
      if (error instanceof UnusableImage) return error;
      throw error;
    },
  );
  if (raw instanceof UnusableImage) return { is: 'unwritten', why: raw.message };
  const server = new ImageServer({ image: raw, mac, disk, rescue, progress: print });
  const { host, port } = splitAddress(listen);
  const folder = await socketFolder(port);
  await rm(socketOf(folder, mac), { force: true });
  await server.listen(socketOf(folder, mac));
  const gateway = new Gateway({ host, port, folder });
  try {
    await gateway.open();
    await writeFile(runFiles.ready, '');
    print(`serves ${mac} at ${listen}`);
    const end = await Promise.race([server.ended, loseMachine(server, order)]);
    server.stop();
    // The machine gets its last answer.
    await pause(1_000);
    return end;
  } finally {
    await gateway.close();
    await rm(socketOf(folder, mac), { force: true });
    await rm(runFiles.copy, { force: true });
  }
}

/** Resolves when the machine did not boot, or went silent. */
async function loseMachine(
  server: ImageServer,
  { listen, mac, bootMs }: ImagingOrder,
): Promise<{ readonly is: 'unwritten' | 'lost'; readonly why: string }> {
  for (const startedAt = Date.now(); ;) {
    await pause(lookMs);
    if (Date.now() - startedAt > limitMs) return { is: 'lost', why: 'the load took longer than three hours' };
    const { stage, heardAt } = server;
    const bootedAt = (await stat(runFiles.booted).catch(() => undefined))?.mtimeMs;
    const patienceMs = stage === 'writing' || stage === 'reading' ? silentMs : bootMs;
    const since = Math.max(bootedAt ?? Infinity, heardAt);
    if (Date.now() - since < patienceMs || bootedAt === undefined) continue;
    const minutes = Math.round(patienceMs / 6_000) / 10;
    if (server.hasServed)
      return { is: 'lost', why: `the rescue system was not heard for ${minutes} minutes` };
    if (stage === 'nothing')
      return {
        is: 'unwritten',
        why: `the machine did not boot from the network: nothing asked for http://${listen}/boot/${mac} in ${minutes} minutes. Check its mac, its boot settings and the DHCP server`,
      };
    return {
      is: 'unwritten',
      why: `the machine got its boot script, and its rescue system did not go on in ${minutes} minutes: look at its console; the rescue system may lack a driver of its network interface`,
    };
  }
}

function splitAddress(listen: string): { readonly host: string; readonly port: number } {
  const at = listen.lastIndexOf(':');
  return { host: listen.slice(0, at), port: Number(listen.slice(at + 1)) };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function main(): Promise<number> {
  const order = JSON.parse(process.argv[2] ?? '') as ImagingOrder;
  try {
    const { is, why } = await writeImage(order);
    if (is !== 'unwritten' || order.isFirst) {
      print(why);
      return exits[is];
    }
    print(`${why}; an earlier attempt may have written the disk`);
    return exits.broken;
  } catch (error) {
    print(error instanceof Error ? error.message : String(error));
    return exits.lost;
  }
}

process.exit(await main());
