import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { cpioFile, cpioFolder, writeCpio } from '../../../../src/rescue/cpio.js';

const sshd = '/usr/sbin/sshd';
const diskTool = join(import.meta.dirname, '../../../../tools/boot-disk.mjs');

interface SmallSystemOptions {
  readonly folder: string;
  /** Made by `heddle image rescue`; its drivers and busybox are used. */
  readonly rescue: string;
  /** Public key of the one who may log in. */
  readonly login: string;
  readonly file: string;
}

/**
 * Writes the image of a disk with a Linux that is only an initramfs: it boots within seconds on
 * an emulated processor, and has an SSH server. Gives its host key.
 */
export function makeSmallSystem({ folder, rescue, login, file }: SmallSystemOptions): string {
  const key = join(folder, 'host-key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const text = (content: string): Buffer => Buffer.from(`${content}\n`);
  const files = [
    ...librariesOf(sshd).map((path) => cpioFile(path.slice(1), readFileSync(path), 0o755)),
    cpioFile('usr/sbin/sshd', readFileSync(sshd), 0o755),
    ...['sshd-session', 'sshd-auth']
      .map((name) => `/usr/lib/openssh/${name}`)
      .filter((path) => existsSync(path))
      .map((path) => cpioFile(path.slice(1), readFileSync(path), 0o755)),
    cpioFile('etc/passwd', text('root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false')),
    cpioFile('etc/shadow', text('root:*:19000::::::\nsshd:*:19000::::::'), 0o600),
    cpioFile('etc/group', text('root:x:0:\nnogroup:x:65534:')),
    cpioFile('etc/nsswitch.conf', text('passwd: files\ngroup: files\nhosts: files')),
    cpioFile('etc/ssh/host-key', readFileSync(key), 0o600),
    cpioFile('etc/ssh/logins', text(login), 0o600),
    cpioFile(
      'etc/ssh/sshd_config',
      text(
        'HostKey /etc/ssh/host-key\nAuthorizedKeysFile /etc/ssh/logins\nStrictModes no\nUsePAM no\nUseDNS no\nPermitRootLogin yes',
      ),
    ),
    cpioFile(
      'init',
      text(`#!/bin/busybox sh
export PATH=/bin:/usr/sbin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /run/sshd
chmod 755 /run/sshd
mount -t devpts pts /dev/pts
modprobe -a virtio_pci virtio_net
ifconfig lo up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
hostname small
/usr/sbin/sshd
while :; do sleep 3600; done`),
      0o755,
    ),
  ];
  const folders = new Set(
    files.flatMap(({ path }) => {
      const parts = path.split('/').slice(0, -1);
      return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    }),
  );
  const archive = writeCpio([...[...folders, 'root', 'run', 'var'].toSorted().map(cpioFolder), ...files]);
  const initrd = join(folder, 'initrd');
  // Linux unpacks one after the other: later files replace earlier ones.
  writeFileSync(initrd, Buffer.concat([readFileSync(join(rescue, 'initramfs')), gzipSync(archive)]));
  execFileSync(process.execPath, [diskTool, file, initrd]);
  return readFileSync(`${key}.pub`, 'utf8').trim().split(' ').slice(0, 2).join(' ');
}

export function digestOf(file: string, bytes?: number): string {
  return createHash('sha256').update(readFileSync(file).subarray(0, bytes)).digest('hex');
}

function librariesOf(program: string): readonly string[] {
  return execFileSync('ldd', [program], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}
