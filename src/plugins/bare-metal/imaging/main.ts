import { existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Gateway, socketFolder, socketOf } from './gateway.js';
import { findImage } from './image-folder.js';
import { ImageServer, type ImagingEnd } from './image-server.js';
import { exits, runFiles, type ImagingOrder } from './imaging-order.js';
import { prepareImage } from './prepare-image.js';

/** More than a load may take: no caller waits for an answer any more. */
const limitMs = 3 * 3_600_000;
/** A machine that was heard, and is silent for so long, does not go on. */
const silentMs = 5 * 60_000;
const lookMs = 500;

type End = ImagingEnd | { readonly is: 'lost'; readonly why: string };

/**
 * The program of one load: a detached run, whose directory is the current one. Its argument is the order. It prints
 * progress, and at last how the load ended.
 */
async function main(): Promise<number> {
  const order = JSON.parse(process.argv[2] ?? '') as ImagingOrder;
  const { is, why } = await writeImage(order);
  if (is !== 'unwritten' || order.isFirst) {
    print(why);
    return exits[is];
  }
  print(`${why}; an earlier attempt may have written the disk`);
  return exits.broken;
}

async function writeImage(order: ImagingOrder): Promise<End> {
  let server: ImageServer | undefined;
  try {
    server = await prepareServer(order);
    return await serve(server, order);
  } catch (error) {
    server?.stop();
    const why = error instanceof Error ? error.message : String(error);
    return { is: server?.hasServed === true ? 'lost' : 'unwritten', why };
  }
}

async function prepareServer({ images, image, rescue, mac, disk }: ImagingOrder): Promise<ImageServer> {
  for (const name of ['kernel', 'initramfs'])
    if (!existsSync(join(rescue, name)))
      throw new Error(`${rescue} has no ${name}; make the rescue system: heddle image rescue ${rescue}`);
  const found = await findImage(images, image);
  if (found.image === undefined) throw new Error(found.why ?? `there is no image ${image} in ${images}`);
  const raw = await prepareImage(found.image, join(process.cwd(), runFiles.copy), print);
  return new ImageServer({ image: raw, mac, disk, rescue, progress: print });
}

async function serve(server: ImageServer, order: ImagingOrder): Promise<End> {
  const { listen, mac } = order;
  const [host = '', port = ''] = listen.split(':');
  const folder = await socketFolder(Number(port));
  const socket = socketOf(folder, mac);
  await rm(socket, { force: true });
  await server.listen(socket);
  const gateway = new Gateway({ host, port: Number(port), folder });
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
    await rm(socket, { force: true });
    await rm(runFiles.copy, { force: true });
  }
}

/** Resolves when the machine did not boot, or went silent. */
async function loseMachine(server: ImageServer, { listen, mac, bootMs }: ImagingOrder): Promise<End> {
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

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exit(await main());
