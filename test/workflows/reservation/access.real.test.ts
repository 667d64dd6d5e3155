import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReservationView } from '../../../src/schema/output/reservation.js';
import { heddleOn } from '../../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { openGround, type Ground } from '../../harness/machine/ground.js';
import {
  bootMachine,
  isLetIn,
  makeKeyPair,
  runAs,
  unable,
  type Credential,
  type Place,
  type RealMachine,
} from '../../harness/reservation/real-machine.js';

interface ShownMachine {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly auth: { readonly user: string; readonly password: string };
}

const quick = { everyMs: 100 } as const;
const names = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'] as const;

// LOAD of provider static writes nothing: what ends an access here is its revocation alone.
describe.skipIf(unable !== undefined)(
  "the account of a reservation's user, on machines that no load writes",
  () => {
    let stack: Stack;
    let ground: Ground;
    const real: Record<string, RealMachine> = {};

    beforeAll(async () => {
      const accounts: Record<string, object> = {};
      stack = await startStack({
        kind: 'sandbox',
        accounts,
        config: { reservations: { prepare: '1m', remind: '1s' } },
      });
      for (const name of names) real[name] = await bootMachine(stack, name);
      accounts['rack'] = { type: 'static', fields: { machines: Object.values(real) } };
      await stack.startWorker();
      ground = openGround(stack);
      await Promise.all(
        names.map((machine) => ground.add(machine, { provider: 'rack', fields: { machine } })),
      );
    });
    afterAll(async () => {
      await stack.stop();
    });

    const { run, json } = heddleOn(() => stack);
    const machineOf = (name: string): RealMachine => {
      const machine = real[name];
      if (machine === undefined) throw new Error(`there is no ${name}`);
      return machine;
    };
    const asRoot = (name: string, line: string): Promise<string> =>
      runAs(machineOf(name), machineOf(name), line);
    const isClosed = ({ overAt, machines }: ReservationView): boolean =>
      overAt !== undefined && machines.every(({ stage }) => stage === 'free');
    const whenClosed = (id: string): Promise<ReservationView> =>
      stack.client.reservations.waitUntil(id, isClosed, quick);

    /** Reserves a machine, and logs in as its user is told to. */
    async function enter(
      user: string,
      machine: string,
      time: object = { for: '1h' },
    ): Promise<{ id: string; credential: Credential }> {
      const { id } = await stack.client.reservations.create({
        image: 'host',
        user,
        machines: [machine],
        ...time,
      });
      await stack.client.reservations.waitUntil(id, ({ state }) => state === 'ready', quick);
      const shown = (await json('reservation', 'log-in', id)) as {
        readonly machines: readonly ShownMachine[];
      };
      const [credential] = shown.machines.map(({ auth }) => auth);
      if (credential === undefined) throw new Error(`nothing was told of how to log in to ${machine}`);
      return { id, credential };
    }

    /** The previous user keeps a key of her own and a process; gives the key. */
    async function settleIn(place: Place, credential: Credential): Promise<Credential> {
      const { publicKey, privateKey } = makeKeyPair();
      await runAs(
        place,
        credential,
        [
          `mkdir -p ~/.ssh; echo '${publicKey}' >>~/.ssh/authorized_keys`,
          'cp /bin/sleep /var/tmp/ada-was-here',
          'setsid /var/tmp/ada-was-here 100000 </dev/null >/dev/null 2>&1 & echo started',
        ].join('\n'),
      );
      const own = { user: credential.user, privateKey };
      expect(await isLetIn(place, own)).toBe(true);
      return own;
    }

    /** Looked at by root, whom the user never was. */
    async function expectNothingLeft(machine: string, ...credentials: readonly Credential[]): Promise<void> {
      for (const credential of credentials) expect(await isLetIn(machineOf(machine), credential)).toBe(false);
      const [user = ''] = credentials.map((credential) => credential.user);
      expect(
        await asRoot(
          machine,
          [
            `grep -h '^${user}:' /etc/passwd /etc/shadow /etc/group`,
            `ls -d /home/${user} /var/tmp/ada-was-here 2>/dev/null`,
            'grep -lx ada-was-here /proc/[0-9]*/comm 2>/dev/null',
            'ls /etc/sudoers.d 2>/dev/null | grep heddle',
          ].join('\n'),
        ),
      ).toBe('');
    }

    // Promise: access-ends
    it.concurrent("ends when the machine is returned, with its sessions, keys and processes; the next user's account is another", async () => {
      const { id, credential } = await enter('ada', 'one');
      const place = machineOf('one');
      expect(await runAs(place, credential, 'id -un; sudo -n id -u')).toMatch(
        /^hd-ada\n.*password is required/s,
      );
      const own = await settleIn(place, credential);
      const again = (await json('reservation', 'log-in', id)) as {
        readonly machines: readonly ShownMachine[];
      };
      expect(again.machines[0]?.auth).toEqual(credential);
      await stack.client.reservations.return(id);
      await whenClosed(id);
      await expectNothingLeft('one', credential, own);

      const next = await enter('bob', 'one');
      expect(next.credential.password).not.toBe(credential.password);
      expect(await runAs(place, next.credential, 'id -un')).toBe('hd-bob');
      for (const one of [credential, own]) expect(await isLetIn(place, one)).toBe(false);
      await stack.client.reservations.return(next.id);
      await whenClosed(next.id);
      await expectNothingLeft('one', next.credential);
    });

    // Promise: access-ends-subordinate
    it.concurrent('ends with the processes and files of its subordinate numbers, which go to no later user', async () => {
      const { id } = await enter('ada', 'nine');
      const range = async (user: string): Promise<string> =>
        asRoot('nine', `grep '^${user}:' /etc/subuid /etc/subgid | cut -d: -f3 | sort -u`);
      const first = await range('hd-ada');
      expect(Number(first)).toBeGreaterThanOrEqual(65_536);
      // As a container of hers runs, by newuidmap.
      const number = Number(first) + 1_000;
      const left = [
        'cat /proc/[0-9]*/comm 2>/dev/null | grep -x ada-contains',
        'ls -d /var/tmp/ada-contains* 2>/dev/null',
      ].join('\n');
      await asRoot(
        'nine',
        [
          'cp /bin/sleep /var/tmp/ada-contains; mkdir /var/tmp/ada-contains.d; touch /var/tmp/ada-contains.d/file',
          `chown ${number}:${number} /var/tmp/ada-contains /var/tmp/ada-contains.d /var/tmp/ada-contains.d/file`,
          `setsid setpriv --reuid ${number} --regid ${number} --clear-groups /var/tmp/ada-contains 100000 </dev/null >/dev/null 2>&1 & echo started`,
        ].join('\n'),
      );
      await until('the process of a subordinate number runs', async () =>
        (await asRoot('nine', left)).startsWith('ada-contains'),
      );
      await stack.client.reservations.return(id);
      await whenClosed(id);
      expect(await asRoot('nine', left)).toBe('');
      expect(await range('hd-ada')).toBe('');

      const next = await enter('bob', 'nine');
      expect(Number(await range('hd-bob'))).toBeGreaterThan(Number(first));
      await stack.client.reservations.return(next.id);
      await whenClosed(next.id);
    });

    it.concurrent('ends with its period, and its shadow entry expires a day later', async () => {
      const to = new Date(Date.now() + 90_000).toISOString();
      const { id, credential } = await enter('ada', 'two', { to });
      const own = await settleIn(machineOf('two'), credential);
      const [, , , , , , , expires] = (await asRoot('two', 'grep "^hd-ada:" /etc/shadow')).split(':');
      expect(Number(expires)).toBe(Math.floor(Date.parse(to) / 86_400_000) + 1);
      expect(await whenClosed(id)).toMatchObject({ state: 'ended', why: 'its end was reached' });
      await expectNothingLeft('two', credential, own);
    });

    it.concurrent('lasts as long as the reservation is extended', async () => {
      const { id, credential } = await enter('ada', 'eight');
      const { to } = await stack.client.reservations.extend(id, Date.now() + 3 * 86_400_000);
      const expected = String(Math.floor(Date.parse(to) / 86_400_000) + 1);
      const expires = async (): Promise<boolean> =>
        (await asRoot('eight', 'grep "^hd-ada:" /etc/shadow')).split(':')[7] === expected;
      await until('the account expires later', expires);
      expect(await isLetIn(machineOf('eight'), credential)).toBe(true);
      await stack.client.reservations.return(id);
      await whenClosed(id);
      await expectNothingLeft('eight', credential);
    });

    // Promise: access-ends-by-load
    it.concurrent('ends by UNLOAD and by LOAD if an administrator created it by hand', async () => {
      for (const intent of [
        { kind: 'unload' },
        { kind: 'load', image: { name: 'host', revision: '1' } },
      ] as const) {
        await ground.operate('three', { kind: 'load', image: { name: 'host', revision: '1' } });
        await ground.operate('three', { kind: 'reserve', user: 'ada' });
        const opened = await run('machine', 'log-in', 'three', '--user', 'ada');
        const password = /^ {2}password (\S+)$/m.exec(opened.stdout)?.[1] ?? '';
        expect(opened.stdout).toMatch(/^three: ssh .* -p \d+ hd-ada@127\./m);
        const credential = { user: 'hd-ada', password };
        const own = await settleIn(machineOf('three'), credential);
        const end = await ground.operate('three', intent);
        expect(end.operation.failure).toBeUndefined();
        expect(end.machine.state).toBe('available');
        await expectNothingLeft('three', credential, own);
      }
    });

    it.concurrent("has the user's own public key instead of a password", async () => {
      const { publicKey, privateKey } = makeKeyPair();
      const file = join(stack.folder, 'ada.pub');
      await writeFile(file, `${publicKey} ada@home\n`);
      const { id } = await stack.client.reservations.create({
        image: 'host',
        user: 'ada',
        machines: ['four'],
        for: '1h',
      });
      await stack.client.reservations.waitUntil(id, ({ state }) => state === 'ready', quick);
      await writeFile(join(stack.folder, 'ada'), privateKey);
      const privately = await run('reservation', 'log-in', id, '--key', join(stack.folder, 'ada'));
      expect(privately).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('is not an OpenSSH public key') as string,
      });
      await chmod(join(stack.folder, 'ada'), 0o600);
      const opened = await run('reservation', 'log-in', id, '--key', file);
      expect(opened).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^four: ssh .* -p \d+ hd-ada@\S+\n {2}with your own key\n/),
        stderr: '',
      });
      const command = /^four: (ssh .*)$/m.exec(opened.stdout)?.[1] ?? '';
      const pasted = (text: string) =>
        promisify(execFile)('/bin/sh', ['-c', `${text} -F none -o BatchMode=yes id -un`]);
      expect(await pasted(command)).toMatchObject({ stdout: 'hd-ada\n' });
      // Another host key is refused.
      await expect(pasted(command.replace(/ AAAA[^']{20}/, ' AAAAC3NzaC1lZDI1NTE5AAAAI'))).rejects.toThrow();
      const own = { user: 'hd-ada', privateKey };
      expect(await runAs(machineOf('four'), own, 'id -un')).toBe('hd-ada');
      await stack.client.reservations.return(id);
      await whenClosed(id);
      await expectNothingLeft('four', own);
    });

    // Promise: access-not-the-machines
    it.concurrent("is shown only by log-in, which never shows the machine's own login", async () => {
      const { password: rootPassword } = machineOf('five');
      const { id, credential } = await enter('ada', 'five');
      const own = [await run('reservation', 'log-in', id), await run('reservation', 'log-in', id, '--json')];
      for (const { stdout, stderr } of own) {
        expect(stdout).toContain(credential.password);
        expect(`${stdout}${stderr}`).not.toContain(rootPassword);
        expect(stdout).not.toContain('root');
      }
      const others = await Promise.all([
        run('reservation', 'show', id, '--json'),
        run('reservation', 'list', '--json'),
        run('machine', 'show', 'five', '--json'),
        run('machine', 'list', '--json'),
      ]);
      const worker = await readFile(join(stack.folder, 'worker.yaml'), 'utf8');
      for (const text of [...others.map(({ stdout }) => stdout), worker])
        expect(text).not.toContain(credential.password);
      await expect(stack.client.machines.access('five')).resolves.toBeNull();
      await expect(stack.client.machines.access('five', 'r999')).resolves.toBeNull();
      await stack.client.reservations.return(id);
      await whenClosed(id);
      await expect(stack.client.machines.access('five', id)).resolves.toBeNull();
    });

    // Promise: access-held-back
    it.concurrent('keeps a machine from the next user while it cannot be revoked, until a load has revoked it', async () => {
      const { id, credential } = await enter('ada', 'six');
      await asRoot(
        'six',
        'mv /usr/sbin/userdel /usr/sbin/userdel.away; printf "#!/bin/sh\\necho no >&2; exit 1\\n" >/usr/sbin/userdel; chmod 755 /usr/sbin/userdel',
      );
      await stack.client.reservations.return(id);
      await whenClosed(id);
      expect(await stack.client.machines.show('six')).toMatchObject({
        state: 'maintenance',
        why: expect.stringContaining('hd-ada could not be removed') as string,
      });
      await expect(
        stack.client.reservations.create({ image: 'host', user: 'bob', machines: ['six'], for: '1h' }),
      ).rejects.toThrow(/in maintenance/);
      // Locked and cut off all the same.
      expect(await isLetIn(machineOf('six'), credential)).toBe(false);
      const load = { kind: 'load', image: { name: 'host', revision: '1' }, force: true } as const;
      expect((await ground.operate('six', load)).operation).toMatchObject({
        state: 'failed',
        answer: 'not done',
      });
      await asRoot('six', 'mv /usr/sbin/userdel.away /usr/sbin/userdel');
      expect((await ground.operate('six', load)).machine).toMatchObject({ state: 'available' });
      await expectNothingLeft('six', credential);
    });

    it.concurrent('leaves no other accounts or keys behind: the machine is withheld until they are gone', async () => {
      const { id, credential } = await enter('ada', 'seven');
      // As if she had become root by a flaw of the system.
      const { publicKey, privateKey } = makeKeyPair();
      await asRoot(
        'seven',
        `mkdir -p -m 700 /root/.ssh; cp /root/.ssh/authorized_keys /root/before; echo '${publicKey}' >>/root/.ssh/authorized_keys`,
      );
      const planted = { user: 'root', privateKey };
      expect(await isLetIn(machineOf('seven'), planted)).toBe(true);
      await stack.client.reservations.return(id);
      await whenClosed(id);
      await expectNothingLeft('seven', credential);
      expect(await stack.client.machines.show('seven')).toMatchObject({ state: 'maintenance' });
      const load = { kind: 'load', image: { name: 'host', revision: '1' }, force: true } as const;
      expect((await ground.operate('seven', load)).operation).toMatchObject({
        state: 'failed',
        failure: { message: expect.stringContaining('may have been changed while ada had it') as string },
      });
      await asRoot('seven', 'cat /root/before >/root/.ssh/authorized_keys');
      expect((await ground.operate('seven', load)).machine).toMatchObject({ state: 'available' });
    });
  },
);
