import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../../../../src/model/json.js';
import { parseSpec } from '../../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../../src/schema/problem.js';
import { openGround as openImages } from '../../../harness/image/ground.js';
import { startStack, type Stack } from '../../../harness/stack.js';
import { openGround, type Ground } from '../../../harness/machine/ground.js';
import { until } from '../../../harness/until.js';
import { labIsMissing, openLab, type Lab } from './support/lab.js';

const examples = join(import.meta.dirname, '../../../../examples/images');

interface ImageFile {
  readonly name: string;
  readonly command: { readonly environment: Readonly<Record<string, string>> };
  readonly validate: { readonly command: string };
}

/** Where this system's own packages come from. */
function packageSource(): Readonly<Record<'MIRROR' | 'SUITE', string>> {
  const lines = execFileSync(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI) $(CODENAME)', 'Created-By: Packages'],
    { encoding: 'utf8' },
  ).split('\n');
  const [MIRROR = '', SUITE = ''] = lines.find((line) => !/-/.test(line))?.split(' ') ?? [];
  return { MIRROR, SUITE };
}

/** As the example has them, but from any mirror. */
function ownVariables(): Readonly<Record<string, string>> {
  const { builder } = parse(readFileSync(join(examples, 'heddle.yaml'), 'utf8')) as {
    readonly builder: {
      readonly commands: { readonly debian: { readonly variables: Record<string, string> } };
    };
  };
  return { ...builder.commands.debian.variables, MIRROR: '.+' };
}

/** HEDDLE_BOOTS asks for it, as npm run test:real does after the other tests. */
const missing = env['HEDDLE_BOOTS'] === undefined ? 'only when HEDDLE_BOOTS asks for them' : labIsMissing();
/** An emulated processor boots in some seconds, and in minutes where others are busy. */
const patienceMs = 600_000;

describe.skipIf(missing !== undefined)(
  `virtual machines that boot, on an emulated processor${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let lab: Lab;
    let stack: Stack;
    let ground: Ground;
    let files: string;
    beforeAll(async () => {
      lab = await openLab();
      files = join(lab.libvirtd.folder, 'files');
      stack = await startStack({
        accounts: { lab: lab.account },
        config: {
          builder: {
            folder: files,
            commands: { debian: { run: [join(examples, 'make-debian')], variables: ownVariables() } },
          },
        },
      });
      await stack.startWorker();
      await stack.startBuilder();
      ground = openGround(stack);
    }, patienceMs);
    afterAll(async () => {
      await stack?.stop();
      await lab?.close();
    }, patienceMs);

    const on = (payload: JsonObject | undefined, line: string): Promise<string> => {
      const { ipaddress, 'ssh-host-key': hostKey } = payload as {
        readonly ipaddress: string;
        readonly 'ssh-host-key': string;
      };
      return lab.run(ipaddress, hostKey, line);
    };

    test.concurrent(
      'in a cluster: an address by DHCP, an unguessable host key, a script executed once, and nothing left at the end',
      async () => {
        const script =
          'echo run >>/root/runs; echo "name=$(hostname)" >>"$HEDDLE_RESULT"; echo "runs=$(wc -l </root/runs)" >>"$HEDDLE_RESULT"';
        const parsed = parseSpec({
          name: 'web',
          nodes: {
            app: { count: 1, provider: 'lab', hardware: 'small', image: 'system', services: ['web'] },
          },
          services: { web: { actions: { install: { type: 'shell', fields: { script } } } } },
        });
        if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
        const { operation } = await stack.client.apply(parsed.spec);
        expect((await stack.client.waitFor('web', operation)).operation).toMatchObject({ state: 'done' });
        const payload = await stack.client.payload('web', 'app-1');
        expect(payload).toMatchObject({
          name: 'web-app-1',
          runs: '1',
          ipaddress: expect.stringMatching(/^192\.168\.77\.\d+$/),
          'ssh-host-key': expect.stringMatching(/^ssh-ed25519 /),
        });
        expect(await on(payload, 'cat /root/runs')).toBe('run');
        expect(lab.domains()).toContain(payload?.['providerid']);
        const removal = await stack.client.delete('web');
        expect((await stack.client.waitFor('web', removal.operation ?? '')).operation.state).toBe('done');
        expect(lab.domains()).not.toContain(payload?.['providerid']);
      },
      patienceMs,
    );

    test.concurrent(
      'standalone: captured, loaded with the captured image, and booted again with its content',
      async () => {
        await ground.add('box', { provider: 'lab', flavor: '1x256m', image: 'system@1' });
        const before = await stack.client.machines.payload('box');
        await on(before, 'echo kept >/root/work');
        const instance = await on(before, 'cat /etc/boot/instances');
        const boot = await on(before, 'cat /proc/sys/kernel/random/boot_id');

        const image = { name: 'work', revision: '2' };
        const { operation, machine } = await ground.operate('box', { kind: 'capture', image, prove: true });
        expect(operation.failure).toBeUndefined();
        expect(operation.result).toMatchObject({ image, sizeMb: expect.any(Number) });
        expect(operation.result?.sizeMb).toBeGreaterThan(50);
        expect(machine).toMatchObject({ state: 'available', image });
        expect(lab.volumes()).toContain('work@2');

        const after = await stack.client.machines.payload('box');
        expect(after['ssh-host-key']).toEqual(before['ssh-host-key']);
        expect(await on(after, 'cat /root/work')).toBe('kept');
        // It was asked to shut down, and did; the loaded disk is a new instance to whoever reads the seed.
        expect(await on(after, 'cat /var/log/power-button')).toBe('pressed');
        expect((await on(after, 'cat /etc/boot/instances')).split('\n')).toEqual([
          instance,
          expect.stringMatching(new RegExp(`^${instance}-`)),
        ]);
        expect(await on(after, 'cat /proc/sys/kernel/random/boot_id')).not.toBe(boot);
        expect((await ground.operate('box', { kind: 'status' })).operation.result?.status).toMatchObject({
          status: 'READY',
          rpower: 1,
          ssh: 1,
          currentimage: 'work',
        });

        await on(after, 'echo left >/root/left && sync');
        expect((await ground.operate('box', { kind: 'unload' })).operation.failure).toBeUndefined();
        const left = await until('the unloaded machine to answer', () =>
          on(after, 'ls /root/left /root/work 2>&1; true').catch(() => false as const),
        );
        expect(left.split('\n')).toEqual([expect.stringMatching(/left.*No such file/), '/root/work']);

        expect((await ground.operate('box', { kind: 'power', verb: 'off' })).operation).toMatchObject({
          answer: 'done',
        });
        expect(
          (await ground.operate('box', { kind: 'power', verb: 'status' })).operation.result?.power,
        ).toEqual({ power: 'off' });
        expect((await ground.operate('box', { kind: 'remove' })).operation).toMatchObject({ state: 'done' });
      },
      patienceMs,
    );

    test.concurrent(
      'of an image that debootstrap builds: uploaded, booted with systemd and cloud-init, and validated over SSH',
      async () => {
        const written = parse(readFileSync(join(examples, 'debian.yaml'), 'utf8')) as ImageFile;
        const { name, command, validate, ...image } = written;
        await openImages(stack).apply(name, {
          ...image,
          command: {
            ...command,
            formats: ['qcow2', 'raw'],
            environment: { ...command.environment, ...packageSource() },
          },
          validate: {
            ...validate,
            hardware: '1x512m',
            command: `${validate.command} && test -d /run/systemd/system && test -e /var/lib/cloud/instance && hostname`,
          },
        });
        const { build } = await stack.client.images.build(name);
        const built = await stack.client.images.waitForBuild(name, build, { everyMs: 1_000 });
        expect(built).toMatchObject({ number: 1, state: 'ready' });
        expect(built.uploads).toMatchObject([{ provider: 'lab', state: 'ready', image: 'debian@1' }]);
        expect(lab.volumes()).toContain('debian@1');
        execFileSync('qemu-img', ['compare', join(files, 'debian-1.qcow2'), join(files, 'debian-1.raw')]);
      },
      patienceMs,
    );

    test('leave only images and their templates', () => {
      const titles = lab.libvirtd.virsh(lab.libvirtd.qemu, 'list', '--all', '--title');
      expect(lab.domains()).toHaveLength(2);
      for (const image of ['debian@1', 'work@2']) expect(titles).toContain(`tags of image ${image}`);
      expect(lab.volumes().toSorted()).toEqual(['debian@1', 'system@1', 'work@2']);
    });
  },
);
