import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PoolClient } from '../../../../src/client/pool/pool-client.js';
import { publicLine } from '../../../harness/ssh-server.js';
import { startStack, type Stack } from '../../../harness/stack.js';
import { until } from '../../../harness/until.js';
import { openGround, type Ground } from '../../../harness/image/ground.js';
import { imageFile, podmanIsMissing, startPodman, type Podman } from './support/podman.js';

const missing = podmanIsMissing();

describe.skipIf(missing !== undefined)(
  `images that are built, on Podman${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let podman: Podman;
    let stack: Stack;
    let ground: Ground;
    beforeAll(async () => {
      podman = await startPodman();
      const keyFile = join(podman.folder, 'login-key');
      const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        .privateKey.export({ type: 'sec1', format: 'pem' })
        .toString();
      writeFileSync(keyFile, key, { mode: 0o600 });
      const fields = {
        endpoint: `unix://${podman.socket}`,
        network: podman.network,
        privateKey: { secret: `file:${keyFile}` },
        publicKeys: [publicLine(key)],
      };
      const account = { type: 'docker', fields, hardware: { small: 'any' }, hostKeys: 'provided' };
      stack = await startStack({
        config: {
          providers: { here: account, picky: account },
          periodicChecks: { every: '2s' },
          builder: {
            folder: join(podman.folder, 'files'),
            commands: {
              copy: {
                run: [
                  '/bin/sh',
                  '-c',
                  `cp '${imageFile}' "$HEDDLE_OUTPUT.tar" && echo disk >"$HEDDLE_OUTPUT.qcow2"`,
                ],
              },
            },
          },
        },
      });
      await Promise.all([stack.startWorker(), stack.startBuilder()]);
      ground = openGround(stack);
    });
    afterAll(async () => {
      await stack?.stop();
      await podman?.close();
    });

    const images = (): readonly string[] =>
      podman
        .run('images', '--format', '{{.Repository}}:{{.Tag}}')
        .split('\n')
        .filter((line) => line.includes('heddle/'));

    test('are imported, booted before use, offered to pools, and deleted when unused', async () => {
      const uploads = [
        { provider: 'here', format: 'tar' },
        { provider: 'picky', format: 'qcow2' },
      ];
      await ground.apply('base', {
        command: { run: 'copy', formats: ['tar', 'qcow2'] },
        uploads,
        validate: { provider: 'here', hardware: 'small', command: 'test -x /usr/sbin/sshd' },
      });
      await stack.client.images.build('base');
      const built = await until('the build has ended', async () =>
        (await ground.see('base')).builds.find(({ state }) => state !== 'building'),
      );
      expect(built).toMatchObject({
        number: 1,
        state: 'ready',
        provenance: { validated: expect.any(String) },
      });
      // What one of them refuses for good does not stop the other.
      expect(built.uploads).toContainEqual(
        expect.objectContaining({ provider: 'here', state: 'ready', image: 'localhost/heddle/base:1' }),
      );
      // It is tried again in each round, in vain.
      await until('it is said why', async () =>
        (await ground.see('base')).builds[0]?.uploads.some(
          ({ provider, state, why = '' }) =>
            provider === 'picky' && state === 'failed' && why.includes('not as qcow2'),
        ),
      );
      const pool = new PoolClient(stack.client.temporal, 'boxes', { by: 'test' });
      const offer = { hardware: 'small', libraryImage: 'base', fields: {}, uses: { nodes: 1 } };
      await pool.apply({
        name: 'boxes',
        tenants: {},
        labels: { box: { minReady: 0, spareAge: 600, onReturn: 'delete' } },
        providerPools: {
          main: {
            provider: 'here',
            priority: 100,
            limits: {},
            attributes: {},
            launchAttempts: 3,
            labels: { box: offer },
          },
        },
      });
      const { id } = await pool.obtain(['box']);
      expect(await pool.nodes()).toMatchObject([{ state: 'in-use', image: 'base@1' }]);
      // Somebody has a node of it: the daemon keeps it, and it is tried again.
      await stack.client.images.delete('base', 1);
      await until('it is said why', async () =>
        (await ground.see('base')).builds[0]?.uploads.some(({ why = '' }) =>
          why.includes('the daemon does not delete it'),
        ),
      );
      expect(images()).toEqual(['localhost/heddle/base:1']);
      await pool.return(id);
      await until('the image is gone', () => images().length === 0);
      await pool.deletePool();
      await stack.client.images.delete('base');
      await stack.client.images.gone('base');
      expect(podman.run('ps', '--all', '--quiet').trim()).toBe('');
    });
  },
);
