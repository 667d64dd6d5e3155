import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { inRecordHome } from '../../../../src/model/machine/record-file.js';
import { captureSystemProgram } from '../../../../src/plugins/automators/linux/sanitize.js';
import { renewHostKeys } from '../../../../src/plugins/automators/linux/host-keys.js';
import { quoteWord, quoteWords } from '../../../../src/ssh/quote.js';
import { startStack, type Stack } from '../../../harness/stack.js';
import { openGround, type Ground } from '../../../harness/machine/ground.js';
import { unable } from '../../../harness/reservation/real-machine.js';

describe.skipIf(unable !== undefined)('host keys of SSH in a captured image', () => {
  let stack: Stack;
  let ground: Ground;
  beforeAll(async () => {
    stack = await startStack({ kind: 'sandbox' });
    await stack.startWorker();
    ground = openGround(stack);
    await ground.add('source');
  });

  const keys = (): Promise<string> => ground.onMachine('source', 'cat /etc/ssh/ssh_host_*_key.pub');
  const boot = (): Promise<string> => ground.onMachine('source', 'sh /etc/heddle/host-keys.sh 2>&1');

  it('stay those of the captured machine there, and are made anew on another one', async () => {
    await ground.onMachine('source', 'mkdir -p /etc/ssh /etc/systemd/system; ssh-keygen -A');
    const own = await keys();
    const image = { name: 'keyed', revision: '1' };
    const { operation } = await ground.operate('source', { kind: 'capture', image, prove: false });
    expect(operation.failure).toBeUndefined();
    const unit = await ground.onMachine(
      'source',
      'cat /etc/systemd/system/multi-user.target.wants/heddle-host-keys.service',
    );
    expect(unit).toMatch(/Before=ssh\.service/);
    await boot();
    expect(await keys()).toBe(own);

    // What a machine with other numbers finds in the image.
    await ground.onMachine('source', 'echo another >/etc/heddle/host-keys-of');
    await boot();
    const renewed = await keys();
    expect(renewed.split('\n').length).toBe(own.split('\n').length);
    for (const key of own.split('\n')) expect(renewed).not.toContain(key);
    await boot();
    expect(await keys()).toBe(renewed);
  });

  it('new keys are generated also if the login of the captured machine uses sudo', async () => {
    const as = (user: string): Promise<string> =>
      ground.onMachine(
        'source',
        `rm -f /etc/heddle/*; su - ${user} -c ${quoteWord(quoteWords(inRecordHome(captureSystemProgram)))} 2>&1; ls /etc/heddle`,
      );
    await ground.onMachine(
      'source',
      "useradd -m able; useradd -m unable; echo 'able ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/able",
    );
    expect(await as('able')).toBe('host-keys-of\nhost-keys.sh');
    expect(await as('unable')).toMatch(/host keys of SSH and the machine id stay in the image/);
  });
});

/**
 * In a namespace of its own, with another /etc and another /sys/class. `be` makes it a machine
 * with this number of its firmware, if any, and with interfaces of these addresses; `boot`
 * prints a digest of its host keys.
 */
const namespace = `
set -eu
own=$(mktemp -d /tmp/heddle-keys-XXXXXX)
mount -t tmpfs none "$own"
mount -t tmpfs none /sys/class
mkdir "$own/etc" "$own/bin"
cp -a /etc/. "$own/etc"
mount --bind "$own/etc" /etc
mkdir -p /etc/systemd/system /etc/ssh
rm -f /etc/ssh/ssh_host_*
for name in systemctl udevadm; do printf '#!/bin/sh\n' >"$own/bin/$name"; chmod +x "$own/bin/$name"; done
PATH=$own/bin:$PATH
be() {
  rm -rf /sys/class/dmi /sys/class/net
  mkdir -p /sys/class/net /sys/class/dmi/id
  [ -z "$1" ] || echo "$1" >/sys/class/dmi/id/product_uuid
  shift
  for mac; do mkdir -p "/sys/class/net/$mac/device"; echo "$mac" >"/sys/class/net/$mac/address"; done
}
keys() { cat /etc/ssh/ssh_host_*_key.pub | sha256sum | cut -c1-12; }
boot() { sh /etc/heddle/host-keys.sh >/dev/null 2>&1; keys; }
load() { cp -a "$own/disk/." /etc; be "$@"; }
ssh-keygen -A >/dev/null
`;

interface Case {
  readonly what: string;
  /** Words of `be`: for the captured machine, then later, and for two that are loaded with its image. */
  readonly captured: string;
  readonly later: readonly string[];
  readonly others: readonly [string, string];
}

describe.skipIf(unable !== undefined)('two machines that are loaded with one captured image', () => {
  it.each<Case>([
    {
      what: 'have numbers of their own',
      captured: '4c4c aa:01',
      later: ['4c4c aa:01', '4c4c aa:01 cc:01', '4c4c'],
      others: ['5d5d', '6e6e'],
    },
    {
      what: 'have mainboards with the same default numbers',
      captured: '03000200-0400 aa:01 aa:02',
      later: ['03000200-0400 aa:02', '03000200-0400'],
      others: ['03000200-0400 bb:01', '03000200-0400 bb:02'],
    },
    {
      what: 'have interfaces alone',
      captured: "'' aa:01",
      later: ["'' aa:01 cc:01"],
      others: ["'' bb:01", "'' bb:02"],
    },
    { what: 'have nothing of their own', captured: "''", later: [], others: ["''", "''"] },
  ])('do not share its host keys if they $what', ({ captured, later, others: [one, another] }) => {
    const script = `${namespace}
be ${captured}
${renewHostKeys}
keys
cp -a /etc "$own/disk"
${later.map((words) => `be ${words}; boot`).join('\n')}
load ${one}; boot; boot
load ${another}; boot; boot`;
    const printed = execFileSync('unshare', ['-m', 'sh'], { input: script, encoding: 'utf8' })
      .trim()
      .split('\n');
    const own = printed.slice(0, 1 + later.length);
    const [first, firstAgain, second, secondAgain] = printed.slice(own.length);
    expect(new Set(own).size).toBe(1);
    expect([firstAgain, secondAgain]).toEqual([first, second]);
    expect(new Set([own[0], first, second]).size).toBe(3);
  });
});
