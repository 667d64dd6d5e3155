import { randomBytes } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { chooseDisk, readDisks } from './choose-disk.js';
import { peerHeader } from './gateway.js';
import { macOfNeighbour } from './neighbour.js';
import type { RawImage } from './prepare-image.js';

/** How a load ended, or why it can no longer succeed. */
export interface ImagingEnd {
  /** `unwritten`: the disk is unchanged. `broken`: it is changed, and a retry does not help. */
  readonly is: 'done' | 'unwritten' | 'broken';
  readonly why: string;
}

/** The machine's progress, which is also the cause if it stops there. */
export type Stage = 'nothing' | 'script' | 'kernel' | 'rescue' | 'writing' | 'reading';

interface ImageServerOptions {
  readonly image: RawImage;
  readonly mac: string;
  readonly disk: string | undefined;
  /** The folder of the rescue system. */
  readonly rescue: string;
  readonly progress: (text: string) => void;
  /** Whether the machine was switched on; earlier requests do not come from the machine. */
  readonly isSwitchedOn?: () => boolean;
  readonly macOf?: (address: string) => Promise<string | undefined>;
}

const megabyte = 2 ** 20;
const pieceMegabytes = 16;
const pieceBytes = pieceMegabytes * megabyte;
/** Maximum bytes of a report, and of a text of the machine in a message. */
const mostReport = 65_536;
const mostText = 300;
/** Timeout for a named disk to appear. */
const appearMs = 30_000;
const showMs = 30_000;
const mostWarnings = 50;

const writeImage = readFileSync(new URL('./write-image.sh', import.meta.url), 'utf8');

/**
 * Serves one machine for one load: its boot files, the image in pieces, and its reports. Everything except
 * the boot script is under a random token, which only the host that first requests the script receives. The
 * machine's reports are data: they choose among fixed options, and the digest must match the image.
 */
export class ImageServer {
  stage: Stage = 'nothing';
  /** The machine got a part of the image, so its disk may be written. */
  hasServed = false;
  /** Why the served host may not be the machine. */
  doubt: string | undefined;
  /** Time of the machine's last request. */
  heardAt = Date.now();
  readonly ended: Promise<ImagingEnd>;
  readonly #options: ImageServerOptions;
  /** The host that got the boot script, and its token. */
  #served: { readonly peer: string; readonly token: string } | undefined;
  readonly #warned = new Set<string>();
  #resolve: (end: ImagingEnd) => void = () => undefined;
  #isStopped = false;
  #absentSince: number | undefined;
  #shown = -1;
  #shownAt = 0;

  constructor(options: ImageServerOptions) {
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** From now on nothing is written, because the outcome is known. */
  stop(): void {
    this.#isStopped = true;
  }

  listen(socket: string): Promise<Server> {
    const server = createServer((incoming, outgoing) => {
      this.#serve(incoming, outgoing).catch(() => outgoing.destroy());
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(socket, () => resolve(server));
    });
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { mac, rescue, progress } = this.#options;
    const { method = 'GET', url = '', headers } = incoming;
    // It is inserted into scripts.
    const host = /^[A-Za-z0-9.:-]{1,255}$/.exec(headers.host ?? '')?.[0];
    if (host === undefined) return refuse(outgoing);
    const peer = String(headers[peerHeader] ?? '');
    if (method === 'GET' && url === `/boot/${mac}`) return this.#boot(outgoing, host, peer);
    const prefix = `/${mac}/${this.#served?.token}/`;
    if (this.#served === undefined || !url.startsWith(prefix)) return refuse(outgoing);
    if (peer !== this.#served.peer) {
      this.#warn(
        `${peer} used the token of ${this.#served.peer} and was rejected; if both are the machine, configure the DHCP server to give it one address`,
      );
      return refuse(outgoing);
    }
    this.heardAt = Date.now();
    const [what = '', number, ...others] = url.slice(prefix.length).split('/');
    if (others.length > 0) return refuse(outgoing);
    if (method === 'GET' && number === undefined) {
      if (what === 'kernel' || what === 'initramfs') {
        if (what === 'kernel') this.#reach('kernel', 'the machine loads the rescue system');
        return sendFile(outgoing, join(rescue, what));
      }
      if (what === 'script') {
        this.#reach('rescue', 'the rescue system runs');
        return answer(outgoing, `url=http://${host}${prefix.slice(0, -1)}\n${writeImage}`);
      }
    }
    if (method === 'GET' && what === 'piece' && /^\d{1,7}$/.test(number ?? ''))
      return this.#sendPiece(outgoing, Number(number));
    if (method !== 'POST' || number !== undefined) return refuse(outgoing);
    const report = await readReport(incoming);
    if (report === undefined) return refuse(outgoing);
    if (what === 'disks') return answer(outgoing, this.#choose(report));
    if (what === 'read') {
      this.#readBack(report);
      return answer(outgoing, 'ok');
    }
    if (what === 'digest' || what === 'failed') {
      this.#end(this.#judge(what, report.trim()));
      return answer(outgoing, 'ok');
    }
    progress(`the machine sent an unknown request: ${what.slice(0, 20)}`);
    return refuse(outgoing);
  }

  /** Rejects hosts that cannot be the machine. Of several possible hosts, the first is served. */
  async #boot(outgoing: ServerResponse, host: string, peer: string): Promise<void> {
    const { mac, isSwitchedOn = () => true, macOf = macOfNeighbour } = this.#options;
    if (!isSwitchedOn()) {
      this.#warn(`${peer} requested the boot script before the machine was switched on and was rejected`);
      return refuse(outgoing);
    }
    const known = await macOf(peer);
    if (known !== undefined && known !== mac) {
      this.#warn(`${peer} requested the boot script and was rejected: its address is ${known}`);
      return refuse(outgoing);
    }
    if (this.#served !== undefined && this.#served.peer !== peer) {
      this.doubt ??= `${this.#served.peer} was served, and ${peer} also requested the boot script of the same machine`;
      this.#warn(`${peer} requested the boot script, which ${this.#served.peer} has received; it waits`);
      return answer(outgoing, waitScript(host, mac));
    }
    // A machine that restarts begins anew.
    this.#served = { peer, token: randomBytes(16).toString('hex') };
    this.#reach('script', `the machine requested its boot script from ${peer}`);
    return answer(outgoing, this.#bootScript(host, this.#served.token));
  }

  #warn(text: string): void {
    if (this.#warned.has(text) || this.#warned.size >= mostWarnings) return;
    this.#warned.add(text);
    this.#options.progress(`warning: ${text}`);
  }

  #end(end: ImagingEnd): void {
    this.stop();
    this.#resolve(end);
  }

  #bootScript(host: string, token: string): string {
    const { mac } = this.#options;
    const base = `http://${host}/${mac}/${token}`;
    const words = [
      'initrd=initramfs',
      `heddle.url=${base}/script`,
      `heddle.mac=${mac}`,
      // The rescue system requests the address that iPXE has from DHCP, because everything that follows is
      // for that address only.
      'heddle.ip=${ip}',
      'console=tty0',
      'console=ttyS0,115200',
      'quiet',
    ];
    // The load that serves the port may end meanwhile.
    return [
      '#!ipxe',
      ':again',
      'imgfree',
      `kernel ${base}/kernel ${words.join(' ')} || goto failed`,
      `initrd ${base}/initramfs || goto failed`,
      'boot',
      ':failed',
      'sleep 2',
      'goto again',
      '',
    ].join('\n');
  }

  /** A machine that restarts begins anew. */
  #reach(stage: Stage, text: string): void {
    this.heardAt = Date.now();
    if (stage === this.stage) return;
    this.stage = stage;
    this.#absentSince = undefined;
    this.#shown = -1;
    this.#options.progress(text);
  }

  #choose(report: string): string {
    const { image, disk, progress } = this.#options;
    const choice = chooseDisk(readDisks(report), disk, image.bytes);
    if (choice.is === 'chosen') {
      progress(`writes ${image.bytes} bytes to ${choice.disk.name}, serial number ${choice.disk.serial}`);
      return `write ${choice.disk.name} ${image.bytes} ${pieceMegabytes}`;
    }
    this.#absentSince ??= Date.now();
    if (choice.is === 'absent' && Date.now() - this.#absentSince < appearMs) return 'wait';
    this.#end({ is: this.hasServed ? 'broken' : 'unwritten', why: choice.why });
    return 'refused';
  }

  async #sendPiece(outgoing: ServerResponse, piece: number): Promise<void> {
    const { file, bytes } = this.#options.image;
    const start = piece * pieceBytes;
    if (start >= bytes || this.#isStopped) return refuse(outgoing);
    this.stage = 'writing';
    this.hasServed = true;
    this.#show('written', start);
    const packed = await promisify(gzip)(await readPart(file, start, Math.min(pieceBytes, bytes - start)), {
      level: 1,
    });
    answer(outgoing, packed);
  }

  #readBack(report: string): void {
    const piece = /^\d{1,7}$/.exec(report)?.[0];
    if (piece === undefined) return;
    if (this.stage !== 'reading') this.#shown = -1;
    this.stage = 'reading';
    this.#show('read back', Number(piece) * pieceBytes);
  }

  /** Reports each percent once, and more on a large disk: a load without progress is ended. */
  #show(what: string, done: number): void {
    const percent = Math.floor((100 * done) / this.#options.image.bytes);
    const isLate = Date.now() - this.#shownAt > showMs;
    if ((percent <= this.#shown && !isLate) || percent > 100) return;
    this.#shown = percent;
    this.#shownAt = Date.now();
    this.#options.progress(`${percent} % ${what}, ${done / megabyte} MB`);
  }

  #judge(what: 'digest' | 'failed', report: string): ImagingEnd {
    const { sha256 } = this.#options.image;
    const text = report.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, mostText);
    if (what === 'failed') return { is: 'broken', why: `the rescue system reports: ${text}` };
    return text === sha256
      ? { is: 'done', why: `the disk holds the image: SHA-256 ${sha256}` }
      : {
          is: 'broken',
          why: `the disk has the SHA-256 ${text}, but the image has ${sha256}: check the disk and its cables`,
        };
  }
}

/** A machine that booted its old disk instead could no longer be loaded. */
function waitScript(host: string, mac: string): string {
  return ['#!ipxe', 'sleep 5', `chain http://${host}/boot/${mac} || reboot`, ''].join('\n');
}

async function readPart(file: string, start: number, length: number): Promise<Buffer> {
  const handle: FileHandle = await open(file, 'r');
  try {
    const part = Buffer.alloc(length);
    let at = 0;
    while (at < length) {
      const { bytesRead } = await handle.read(part, at, length - at, start + at);
      if (bytesRead === 0) throw new Error(`${file} has become shorter`);
      at += bytesRead;
    }
    return part;
  } finally {
    await handle.close();
  }
}

/** Undefined if it is too long. */
async function readReport(incoming: IncomingMessage): Promise<string | undefined> {
  let text = '';
  for await (const chunk of incoming.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > mostReport) return undefined;
  }
  return text;
}

async function sendFile(outgoing: ServerResponse, file: string): Promise<void> {
  outgoing.writeHead(200, { 'content-length': statSync(file).size });
  await pipeline(createReadStream(file), outgoing);
}

function answer(outgoing: ServerResponse, body: string | Buffer): void {
  outgoing.writeHead(200, { 'content-length': Buffer.byteLength(body) }).end(body);
}

function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(404, { 'content-length': 0 }).end();
}
