import { createHash } from 'node:crypto';
import { PluginError, type CreateInput } from '../../contract.js';
import type { DockerFields } from './field-types.js';

/** A daemon has each name once: that is what keeps a key to one container. */
export function containerName(key: string): string {
  return `heddle-${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
}

/**
 * Makes the host keys that are not there yet, lets our keys in besides the image's own, and becomes the SSH
 * server.
 */
const startSsh = [
  'mkdir -p /run/sshd',
  'printf \'%s\\n\' "$HEDDLE_PUBLIC_KEYS" >/etc/ssh/heddle_authorized_keys',
  'ssh-keygen -A',
  "exec /usr/sbin/sshd -D -e -o AuthorizedKeysFile='.ssh/authorized_keys /etc/ssh/heddle_authorized_keys'",
].join(' && ');

export const sshPort = '22/tcp';

/**
 * The body of the call that creates the container.
 * @throws PluginError Invalid if the flavor is malformed.
 */
export function makeContainer(
  { flavor, image, hostname, key, tags }: CreateInput,
  fields: DockerFields,
): object {
  const { publicKeys, network, init, command, environment, reachBy } = fields;
  const variables = { ...environment, HEDDLE_PUBLIC_KEYS: publicKeys.join('\n') };
  return {
    Hostname: hostname,
    Image: image,
    Labels: { ...tags, 'heddle-key': key },
    Env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...(command === undefined ? { Entrypoint: ['/bin/sh', '-ec'], Cmd: [startSsh] } : { Cmd: command }),
    ExposedPorts: { [sshPort]: {} },
    HostConfig: {
      Init: init,
      ...limitsOf(flavor),
      // Containers survive a restart of the daemon's host, unless stopped on purpose.
      RestartPolicy: { Name: 'unless-stopped' },
      ...(network === undefined ? {} : { NetworkMode: network }),
      // On loopback only, unless the port is published.
      ...(reachBy === 'port'
        ? {
            PortBindings: {
              [sshPort]: [{ HostIp: isLoopback(fields.address) ? fields.address : '', HostPort: '' }],
            },
          }
        : {}),
    },
  };
}

function isLoopback(address: string): boolean {
  return address === '127.0.0.1' || address === '::1';
}

const units = { m: 1024 ** 2, g: 1024 ** 3 } as const;

/**
 * `2x1g` is two processors and 1 GiB of memory; `any` is without limits.
 * @throws PluginError Invalid for another form.
 */
export function limitsOf(flavor: string): { readonly NanoCpus?: number; readonly Memory?: number } {
  if (flavor === 'any') return {};
  const [, cpus, memory, unit] = /^(\d{1,3}(?:\.\d{1,2})?)x(\d{1,5})([mg])$/.exec(flavor) ?? [];
  if (cpus === undefined || Number(cpus) === 0 || Number(memory) === 0)
    throw new PluginError(
      'Invalid',
      `the flavor ${flavor} is not valid for provider docker: use processors and memory, such as 2x1g or 0.5x512m, or any`,
    );
  return {
    NanoCpus: Math.round(Number(cpus) * 1e9),
    Memory: Number(memory) * units[unit === 'g' ? 'g' : 'm'],
  };
}

/** The content of the one file that a tar archive holds; undefined when the archive holds none. */
export function readSingleFile(archive: Buffer): string | undefined {
  for (let at = 0; at + 512 <= archive.length;) {
    const header = archive.subarray(at, at + 512);
    const size = Number.parseInt(header.toString('latin1', 124, 136).replace(/\0.*$/, '').trim() || '0', 8);
    const type = header.toString('latin1', 156, 157);
    if (header.every((byte) => byte === 0) || !Number.isFinite(size)) return undefined;
    // Others are notes about the file that follows.
    if (type === '0' || type === '\0') return archive.toString('utf8', at + 512, at + 512 + size);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return undefined;
}
