import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../../harness/until.js';

/** Why libvirt cannot be tried here; undefined when it can. */
export function libvirtIsMissing(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'libvirtd is tried as root on Linux alone: it gets a mount namespace';
  if (
    ['virsh', 'libvirtd', 'qemu-img', 'mcopy', 'ip'].some(
      (word) => spawnSync(word, ['--version']).error !== undefined,
    )
  )
    return 'libvirt is not installed: npm run setup:extras';
  return undefined;
}

/**
 * Folders of libvirt's own, each a folder of the test's for this daemon alone; so are the users that it
 * wants, and its network.
 */
const startInNamespace = `
set -e
for place in etc/libvirt run/libvirt run/lock var/lib/libvirt var/cache/libvirt var/log/libvirt; do
  mkdir -p "/$place" "$1/own/$place"
  mount --bind "$1/own/$place" "/$place"
done
cp "$1/qemu.conf" /etc/libvirt/
{ cat /etc/passwd; echo 'libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin'; } > "$1/passwd"
{ cat /etc/group; echo 'libvirt-qemu:x:64055:'; echo 'kvm:x:64056:'; } > "$1/group"
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/group" /etc/group
ip link add heddle0 type bridge
ip link set heddle0 up
# The shell is the first process here: it waits for machines that ended, or libvirt would wait for them itself, and long.
libvirtd --config "$1/libvirtd.conf" --pid-file "$1/pid" &
wait $!
`;

export interface Libvirtd {
  readonly folder: string;
  /** Of libvirt's test driver, whose domains exist in memory alone, and of QEMU. */
  readonly test: string;
  readonly qemu: string;
  /** A bridge in the daemon's own network. */
  readonly bridge: string;
  /** What nsenter is told to run a command in that network. */
  readonly inNetwork: string;
  /** Runs virsh on one of them. */
  virsh(uri: string, ...words: readonly string[]): string;
  close(): Promise<void>;
}

/** A libvirt daemon of a test's own, of which nothing is left in the end. */
export async function startLibvirtd(): Promise<Libvirtd> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-libvirt-'));
  mkdirSync(join(folder, 'run'));
  writeFileSync(
    join(folder, 'qemu.conf'),
    'security_driver = "none"\nuser = "root"\ngroup = "root"\nnamespaces = []\ncgroup_controllers = []\nstdio_handler = "file"\n',
  );
  writeFileSync(
    join(folder, 'libvirtd.conf'),
    `unix_sock_dir = "${folder}/run"\nauth_unix_rw = "none"\nlog_outputs = "3:file:${folder}/log"\n`,
  );
  const socket = join(folder, 'run', 'libvirt-sock');
  const [test, qemu] = [`test+unix:///default?socket=${socket}`, `qemu+unix:///system?socket=${socket}`];
  const virsh = (uri: string, ...words: readonly string[]): string =>
    execFileSync('virsh', ['--quiet', '--connect', uri, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  // Whatever it starts, machines and DHCP servers too, ends with it.
  const daemon = spawn(
    'unshare',
    [
      '--mount',
      '--net',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      'sh',
      '-c',
      startInNamespace,
      'sh',
      folder,
    ],
    { stdio: 'ignore' },
  );
  const ended = once(daemon, 'exit');
  const keepers: ReturnType<typeof spawn>[] = [];
  const close = async (): Promise<void> => {
    for (const keeper of keepers) keeper.stdin?.end();
    daemon.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const answers = (): boolean =>
      existsSync(socket) && spawnSync('virsh', ['-c', test, 'version']).status === 0;
    await until(
      'libvirtd to answer',
      () => {
        if (daemon.exitCode !== null)
          throw new Error(
            `libvirtd ended: ${existsSync(join(folder, 'log')) ? readFileSync(join(folder, 'log'), 'utf8') : ''}`,
          );
        return Promise.resolve(answers());
      },
      120_000,
    );
    // What the test driver has is forgotten with its last connection.
    keepers.push(spawn('virsh', ['--connect', test], { stdio: ['pipe', 'ignore', 'ignore'] }));
    await until(
      'a lasting connection',
      () => {
        if (!virsh(test, 'vol-list', 'default-pool').includes('base'))
          virsh(test, 'vol-create-as', 'default-pool', 'base', '1G', '--format', 'qcow2');
        return Promise.resolve(virsh(test, 'vol-list', 'default-pool').includes('base'));
      },
      120_000,
    );
    return {
      folder,
      test,
      qemu,
      bridge: 'heddle0',
      inNetwork: `--net=/proc/${daemon.pid ?? 0}/ns/net`,
      virsh,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
