import { existsSync } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { activityTable } from '../../../model/activities.js';
import { Gateway, socketFolder, socketOf } from './gateway.js';
import { openImage } from './image-folder.js';
import { ImageServer, type ImagingEnd } from './image-server.js';
import { runFiles, type ImagingOrder } from './imaging-order.js';
import { prepareImage } from './prepare-image.js';

/** Maximum duration; no caller waits longer. */
const limitMs = activityTable.LOAD.attemptMs;
/** A machine that is silent for this time after its last request has stopped. */
const silentMs = 5 * 60_000;
const pollMs = 500;
/** A load without progress is ended, and a machine may take longer than that to boot. */
const waitShownMs = 30_000;

export type LoadEnd = ImagingEnd | { readonly is: 'lost' | 'unprepared'; readonly why: string };

interface LoadRun {
  /** The directory of the run. */
  readonly directory: string;
  readonly progress: (text: string) => void;
  /** Interval between reports while waiting, in ms. */
  readonly waitShownMs?: number;
}

/** Serves one load until its outcome is known, and then deletes the unpacked image. */
export async function serveLoad(order: ImagingOrder, run: LoadRun): Promise<LoadEnd> {
  let server: ImageServer | undefined;
  try {
    server = await prepareServer(order, run);
    return await serve(server, order, run);
  } catch (error) {
    server?.stop();
    const why = error instanceof Error ? error.message : String(error);
    const wasReady = existsSync(join(run.directory, runFiles.ready));
    return { is: server?.hasServed === true ? 'lost' : wasReady ? 'unwritten' : 'unprepared', why };
  } finally {
    await rm(join(run.directory, runFiles.copy), { force: true });
  }
}

async function prepareServer(
  { images, image, rescue, mac, disk }: ImagingOrder,
  { directory, progress }: LoadRun,
): Promise<ImageServer> {
  const found = await openImage({ images, rescue }, image);
  const raw = await prepareImage(found, join(directory, runFiles.copy), progress);
  const isSwitchedOn = (): boolean => existsSync(join(directory, runFiles.booting));
  return new ImageServer({ image: raw, mac, disk, rescue, progress, isSwitchedOn });
}

async function serve(server: ImageServer, order: ImagingOrder, run: LoadRun): Promise<LoadEnd> {
  const { listen, mac } = order;
  const [host = '', port = ''] = listen.split(':');
  const folder = await socketFolder(Number(port));
  const socket = socketOf(folder, mac);
  await rm(socket, { force: true });
  const listening = await server.listen(socket);
  const gateway = new Gateway({ host, port: Number(port), folder });
  try {
    await gateway.open();
    await writeFile(join(run.directory, runFiles.ready), '');
    run.progress(`serves ${mac} at ${listen}`);
    const end = await Promise.race([server.ended, loseMachine(server, order, run)]);
    server.stop();
    // Send the machine its last answer.
    await pause(1_000);
    return end.is === 'done' ? await seeMachine(server, end, order, run) : end;
  } finally {
    await gateway.close();
    listening.close();
    await rm(socket, { force: true });
  }
}

/**
 * The host that reports success may not be the machine, which would then request its boot script later. A
 * machine that is off has completed its rescue system; one that cannot switch itself off has had time to
 * request the script.
 */
async function seeMachine(
  server: ImageServer,
  end: LoadEnd,
  { bootMs }: ImagingOrder,
  { directory, progress, waitShownMs: shownMs = waitShownMs }: LoadRun,
): Promise<LoadEnd> {
  await writeFile(join(directory, runFiles.reported), '');
  progress(`${end.why}; waits until the machine is off`);
  const startedAt = Date.now();
  for (let shownAt = startedAt; server.doubt === undefined && Date.now() < startedAt + bootMs;) {
    if (existsSync(join(directory, runFiles.off))) return end;
    await pause(pollMs);
    if (Date.now() - shownAt < shownMs) continue;
    shownAt = Date.now();
    progress(`waits until the machine is off: ${Math.round((shownAt - startedAt) / 1_000)} s`);
  }
  if (server.doubt === undefined) return end;
  return {
    is: 'broken',
    why: `a host reported that the image is on the disk, but it may not be the machine: ${server.doubt}; make sure that no other host uses its address`,
  };
}

/** Resolves if the machine did not boot or became silent. */
async function loseMachine(
  server: ImageServer,
  order: ImagingOrder,
  { directory, progress, waitShownMs: shownMs = waitShownMs }: LoadRun,
): Promise<LoadEnd> {
  let shownAt = Date.now();
  for (const startedAt = Date.now(); ;) {
    await pause(pollMs);
    const now = Date.now();
    if (now - startedAt > limitMs)
      return { is: 'lost', why: `the load took longer than ${limitMs / 3_600_000} hours` };
    const bootedAt = (await stat(join(directory, runFiles.booted)).catch(() => undefined))?.mtimeMs;
    if (bootedAt === undefined) continue;
    const { stage, heardAt } = server;
    const isWriting = stage === 'writing' || stage === 'reading';
    const patienceMs = isWriting ? silentMs : order.bootMs;
    const waitedMs = now - Math.max(bootedAt, heardAt);
    if (waitedMs >= patienceMs) return describeLoss(server, order, Math.round(patienceMs / 6_000) / 10);
    if (isWriting || Math.min(waitedMs, now - shownAt) < shownMs) continue;
    shownAt = now;
    progress(`waits for the machine: ${Math.round(waitedMs / 1_000)} s`);
  }
}

function describeLoss(
  { hasServed, stage }: ImageServer,
  { listen, mac }: ImagingOrder,
  minutes: number,
): LoadEnd {
  if (hasServed) return { is: 'lost', why: `the rescue system was silent for ${minutes} minutes` };
  if (stage === 'nothing')
    return {
      is: 'unwritten',
      why: `the machine did not boot from the network: no request for http://${listen}/boot/${mac} in ${minutes} minutes. Check its mac, its boot settings and the DHCP server`,
    };
  return {
    is: 'unwritten',
    why: `the machine got its boot script, but its rescue system did not continue within ${minutes} minutes: check its console; the rescue system may lack a driver for its network interface`,
  };
}
