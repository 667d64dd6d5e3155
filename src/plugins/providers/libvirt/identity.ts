import { createHash } from 'node:crypto';

/** All names of a machine derive from its key, so that a repeated request means the same machine. */
export interface Identity {
  readonly name: string;
  readonly uuid: string;
  readonly mac: string;
  /** Its volumes. */
  readonly disk: string;
  readonly seed: string;
  /** What its console printed, of all loads. */
  readonly log: string;
}

/** Before every name that is ours. */
export const namePrefix = 'heddle-';

/**
 * What the pool's image of this name has beside its volume: a domain that is never started,
 * with its tags. libvirt has each name once, so of two tokens one gets the image.
 */
export interface ImageIdentity {
  readonly name: string;
  readonly uuid: string;
}

export const imagePrefix = `${namePrefix}image-`;

export function identifyImage(pool: string, volume: string, token: string): ImageIdentity {
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
  return {
    name: `${imagePrefix}${digest(`${pool}/${volume}`)}`,
    uuid: asUuid(digest(`${pool}/${volume}\n${token}`)),
  };
}

/** The volume that an upload is sent into. */
export function partOf({ uuid }: Pick<ImageIdentity, 'uuid'>): string {
  return `${imagePrefix}${uuid}.part`;
}

/** With a load's token the volumes are those of that load, which nothing else ever writes. */
export function identify(key: string, token?: string): Identity {
  const digest = createHash('sha256').update(key).digest('hex');
  const name = `${namePrefix}${digest.slice(0, 32)}`;
  const bytes = digest.slice(32).match(/../g) ?? [];
  const load = token === undefined ? '' : `-${digestOf(token)}`;
  // 52:54 is QEMU's: of no manufacturer, and of one machine.
  return {
    name,
    uuid: asUuid(digest.slice(0, 32)),
    mac: ['52', '54', ...bytes.slice(0, 4)].join(':'),
    disk: `${name}${load}.qcow2`,
    seed: `${name}-seed${load}.img`,
    log: `${name}-console.log`,
  };
}

/** Whether it is a name that a volume of this machine has, of whichever load. */
export function isVolumeOf({ name }: Identity, volume: string): boolean {
  return (
    volume.startsWith(name) &&
    /^(-[0-9a-f]{16})?\.qcow2$|^-seed(-[0-9a-f]{16})?\.img$|^-console\.log(\.\d+)?$/.test(
      volume.slice(name.length),
    )
  );
}

/**
 * Whether it is an earlier part of a console whose machine was deleted when libvirt had not seen that part.
 */
export function isLostLog(volume: string, volumes: readonly string[]): boolean {
  const [, log] = /^(heddle-[0-9a-f]{32}-console\.log)\.\d+$/.exec(volume) ?? [];
  return log !== undefined && !volumes.includes(log);
}

/** Of a token, which may be any text. */
export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16);
}

/** Version 8, for custom use. */
function asUuid(hex: string): string {
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
