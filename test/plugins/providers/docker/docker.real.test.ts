import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readInstallation } from '../../../../src/client/installation.js';
import { containerName } from '../../../../src/plugins/providers/docker/container.js';
import { parseSpec } from '../../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../../src/schema/problem.js';
import { publicLine } from '../../../harness/ssh-server.js';
import { startStack, type Stack } from '../../../harness/stack.js';
import { until } from '../../../harness/until.js';
import { podmanIsMissing, startPodman, type Podman } from './support/podman.js';

const missing = podmanIsMissing();

describe.skipIf(missing !== undefined)(
  `a cluster of containers on Podman${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let podman: Podman;
    let stack: Stack;
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
      const account = {
        type: 'docker',
        fields,
        hardware: { small: '0.5x256m' },
        images: { debian: podman.image },
        hostKeys: 'provided',
      };
      stack = await startStack({
        config: { providers: { here: account }, sweep: { every: '1h', minimumAge: '1ms', delete: true } },
      });
      await stack.startWorker();
    });
    afterAll(async () => {
      await stack?.stop();
      await podman?.close();
    });

    const containers = (): string[] =>
      podman
        .run('ps', '--all', '--quiet', '--filter', 'label=heddle-cluster=web')
        .split('\n')
        .filter((line) => line !== '');

    test('over its socket: nodes in one network, with limits and unguessable host keys, and nothing left at the end', async () => {
      const script = 'echo "name=$(hostname)" >>"$HEDDLE_RESULT"';
      const parsed = parseSpec({
        name: 'web',
        nodes: { app: { count: 2, provider: 'here', hardware: 'small', image: 'debian', services: ['web'] } },
        services: { web: { actions: { install: { type: 'shell', fields: { script } } } } },
      });
      if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
      const { operation } = await stack.client.apply(parsed.spec);
      expect((await stack.client.waitFor('web', operation)).operation).toMatchObject({ state: 'done' });
      const [first, second] = await Promise.all(
        ['app-1', 'app-2'].map((node) => stack.client.payload('web', node)),
      );
      expect([first?.['name'], second?.['name']]).toEqual(['web-app-1', 'web-app-2']);
      expect(first?.['ipaddress']).not.toBe(second?.['ipaddress']);
      expect(containers()).toHaveLength(2);
      expect(
        podman.run(
          'inspect',
          '--format',
          '{{.HostConfig.Memory}} {{.Config.Hostname}}',
          containers()[0] ?? '',
        ),
      ).toMatch(/^268435456 web-app-/);
      const removal = await stack.client.delete('web');
      expect((await stack.client.waitFor('web', removal.operation ?? '')).operation.state).toBe('done');
      expect(containers()).toEqual([]);
    });

    test('keeps the console of a container that ends by itself, with its CONFIRM', async () => {
      const command = ['sh', '-c', 'echo no SSH server here; exit 3'];
      const group = { count: 1, provider: 'here', hardware: 'small', image: 'debian', fields: { command } };
      const parsed = parseSpec({ name: 'web', nodes: { app: group } });
      if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
      const { operation } = await stack.client.apply(parsed.spec);
      const { operation: ended } = await stack.client.waitFor('web', operation);
      expect(JSON.stringify(ended)).toContain(
        "its console is in the task's log, and ends with: no SSH server here",
      );
      const logs = readdirSync(stack.folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
        file.endsWith('CONFIRM.1.log'),
      );
      expect(logs.map((file) => readFileSync(join(stack.folder, file), 'utf8')).join('')).toMatch(
        /"stream":"stdout","text":"no SSH server here/,
      );
      const removal = await stack.client.delete('web');
      await stack.client.waitFor('web', removal.operation ?? '');
      expect(containers()).toEqual([]);
    });

    test('the sweep deletes a container that was created and never started, with its volume', async () => {
      const linesOf = (...words: string[]): number => podman.run(...words).split('\n').length;
      const group = { count: 1, provider: 'here', hardware: 'small', image: 'debian' };
      const parsed = parseSpec({ name: 'doomed', nodes: { app: group } });
      if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
      const { operation } = await stack.client.apply(parsed.spec);
      await stack.client.waitFor('doomed', operation);
      const ofDoomed = ['--filter', 'label=heddle-cluster=doomed'];
      const key = podman.run('ps', ...ofDoomed, '--format', '{{index .Labels "heddle-key"}}').trim();
      const removal = await stack.client.delete('doomed');
      await stack.client.waitFor('doomed', removal.operation ?? '');
      const volumes = linesOf('volume', 'ls', '--quiet');
      const tags = {
        'heddle-installation': await readInstallation(stack.client.temporal),
        'heddle-cluster': 'doomed',
        'heddle-key': key,
      };
      const labels = Object.entries(tags).flatMap(([name, value]) => ['--label', `${name}=${value}`]);
      // As a CREATE leaves it that was cut after its first call.
      podman.run(
        'create',
        '--name',
        containerName(key),
        '--volume',
        '/data',
        ...labels,
        podman.image,
        'true',
      );
      expect(linesOf('volume', 'ls', '--quiet')).toBe(volumes + 1);
      expect((await stack.client.sweep()).leaks).toMatchObject([
        { kind: 'orphan', cluster: 'doomed', account: 'here', key, state: 'starting' },
      ]);
      const [deleted] = await until('it is deleted', async () => {
        const report = await stack.client.sweep();
        return report.deleted.length > 0 && report.deleted;
      });
      expect(deleted).toMatchObject({ key });
      expect(deleted?.failed).toBeUndefined();
      expect(podman.run('ps', '--all', '--quiet', ...ofDoomed).trim()).toBe('');
      expect(linesOf('volume', 'ls', '--quiet')).toBe(volumes);
    });
  },
);
