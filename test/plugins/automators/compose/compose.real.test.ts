import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ComposeAutomator } from '../../../../src/plugins/automators/compose/compose.js';
import type { JsonObject } from '../../../../src/model/json.js';
import type { Task } from '../../../../src/plugins/contract.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { closeAll, toolOn } from '../../../harness/automators/tool.js';
import { composeIsMissing, startPodmanCompose, type PodmanCompose } from './support/podman-compose.js';

const missing = composeIsMissing();

/** An image of 240 MB is taken in first. */
const patienceMs = 240_000;

describe.skipIf(missing !== undefined)(
  `compose projects on Podman${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    let compose: PodmanCompose;
    let node: TestNode;
    let operations = 0;
    beforeAll(async () => {
      compose = await startPodmanCompose();
    }, patienceMs);
    afterAll(() => compose?.podman.close());
    beforeEach(async () => {
      node = await startNode();
    });
    afterEach(async () => {
      compose.podman.run('rm', '--all', '--force', '--time', '0');
      await closeAll();
      await node.close();
    });

    const act = (
      taskName: Task['taskName'],
      fields: JsonObject = {},
      data = '',
    ): ReturnType<ComposeAutomator['carryOut']> => {
      operations += 1;
      return toolOn(
        ComposeAutomator,
        node,
        { stopTimeout: 0, sudo: false, ...fields },
        String(operations),
        {},
        { taskName, admin: compose.admin },
      ).automator.carryOut('', data);
    };
    const containers = (...words: readonly string[]): string[] =>
      compose.podman
        .run(
          'ps',
          '--format',
          '{{.Names}}',
          '--filter',
          'label=com.docker.compose.project=shop-web',
          ...words,
        )
        .split('\n')
        .filter((line) => line !== '')
        .toSorted();
    const kept = (name: string): string => join(node.home, '.heddle/compose/shop-web', name);

    /** Each writes what it was given into a volume, and is healthy only after a while. */
    const file = (services: readonly string[]): string => `
services:
${services
  .map(
    (name) => `  ${name}:
    image: ${compose.podman.image}
    network_mode: host
    command: ["/bin/sh", "-c", "cat /conf/greeting /conf/data > /state/${name}; echo \\"$$COLOUR \${HEDDLE_NODE}\\" >> /state/${name}; sleep 1; touch /ready; exec sleep 1000"]
    environment: {COLOUR: "\${COLOUR}"}
    volumes: ["state:/state", "./conf/greeting:/conf/greeting:ro", "./data:/conf/data:ro"]
    healthcheck: {test: ["CMD", "test", "-e", "/ready"], interval: 1s, retries: 100}`,
  )
  .join('\n')}
volumes: {state: {}}
`;
    const state = (name: string): string =>
      compose.podman.run(
        'run',
        '--rm',
        '--network=host',
        '--volume',
        'shop-web_state:/state',
        compose.podman.image,
        'cat',
        `/state/${name}`,
      );

    test(
      'from INSTALL to REMOVE, each twice: waits until all are healthy, applies changes, removes services that are no longer named',
      async () => {
        const fields = {
          file: file(['one', 'two']),
          files: { 'conf/greeting': 'hello\n' },
          environment: { COLOUR: 'it\'s "blue" $HOME' },
        };
        for (const _time of ['once', 'again']) await act('INSTALL', fields, 'data\n');
        expect([containers(), containers('--all')]).toEqual([[], ['shop-web_one_1', 'shop-web_two_1']]);
        await act('CONFIGURE', fields, 'data\n');
        expect(containers()).toEqual([]);
        for (const _time of ['once', 'again']) await act('START');
        const ids = compose.podman.run('ps', '--quiet', '--no-trunc');
        for (const name of containers()) compose.podman.run('exec', name, 'test', '-e', '/ready');
        expect(state('one')).toBe('hello\ndata\nit\'s "blue" $HOME app-1\n');
        expect(compose.podman.run('ps', '--quiet', '--no-trunc')).toBe(ids);

        await act('RELOAD', { ...fields, file: file(['two']), environment: { COLOUR: 'red' } }, 'data\n');
        expect(containers('--all')).toEqual(['shop-web_two_1']);
        expect(state('two')).toBe('hello\ndata\nred app-1\n');

        for (const _time of ['once', 'again']) await act('STOP');
        expect([containers(), containers('--all')]).toEqual([[], ['shop-web_two_1']]);
        for (const _time of ['once', 'again']) await act('REMOVE');
        expect([containers('--all'), existsSync(kept(''))]).toEqual([[], false]);
        expect(state('two')).toContain('red');

        await act('REMOVE', { ...fields, volumes: true }, 'data\n');
        expect(compose.podman.run('volume', 'ls', '--quiet')).toBe('');
      },
      patienceMs,
    );

    test(
      'INITIALIZE runs a command in its own container, with data and results',
      async () => {
        const once = `services: {job: {image: "${compose.podman.image}", network_mode: host, volumes: ["\${HEDDLE_RESULT}:/result"]}}`;
        const run = {
          service: 'job',
          command: ['/bin/sh', '-c', 'echo "web.answer=$(cat) $1" > /result', 'sh', "it's"],
        };
        expect(await act('INITIALIZE', { file: once, run }, 'forty-two')).toEqual({
          result: { 'web.answer': "forty-two it's" },
        });
        expect(compose.podman.run('ps', '--all', '--quiet')).toBe('');
      },
      patienceMs,
    );

    test(
      'reports the last output of a container that ended or is unhealthy',
      async () => {
        const broken = (rest: string): string =>
          `services: {web: {image: "${compose.podman.image}", network_mode: host, stop_grace_period: 0s, ${rest}}}`;
        await expect(
          act('START', { file: broken('command: ["/bin/sh", "-c", "echo no such database; exit 7"]') }),
        ).rejects.toMatchObject({
          kind: 'ScriptFailed',
          message: expect.stringContaining('ended with exit code 7'),
          stderr: expect.stringContaining('no such database'),
        });
        await expect(
          act('START', {
            wait: 1,
            file: broken('command: ["sleep", "1000"], healthcheck: {test: ["CMD", "false"], retries: 100}'),
          }),
        ).rejects.toMatchObject({
          kind: 'ScriptFailed',
          message: expect.stringMatching(/not ready after 1 s: \S*web\S* \(running, starting\)/),
        });
        await expect(
          act('START', {
            file: broken('command: ["sleep", "1000"], healthcheck: {test: ["CMD", "false"], retries: 1}'),
          }),
        ).rejects.toMatchObject({ kind: 'ScriptFailed', message: expect.stringContaining('is not healthy') });
      },
      patienceMs,
    );

    test(
      'keeps the existing file if the new one is wrong, and does not touch a project of another node',
      async () => {
        await expect(act('START')).rejects.toMatchObject({
          kind: 'ScriptFailed',
          message: expect.stringContaining('keeps no compose file of shop-web'),
        });
        await act('STOP');
        const good = `services: {web: {image: "${compose.podman.image}", network_mode: host, command: ["sleep", "1000"]}}`;
        await act('CONFIGURE', { file: good });
        await expect(act('CONFIGURE', { file: 'services: {web: [' })).rejects.toMatchObject({
          kind: 'ScriptFailed',
          message: expect.stringContaining('the compose file of shop-web is wrong'),
        });
        expect(readFileSync(kept('project/compose.yaml'), 'utf8')).toBe(good);
        const other = toolOn(
          ComposeAutomator,
          node,
          { file: good, sudo: false },
          'other',
          {},
          { taskName: 'START', nodeId: 'app-2', admin: compose.admin },
        );
        await expect(other.automator.carryOut('', '')).rejects.toMatchObject({
          kind: 'ScriptFailed',
          message: expect.stringContaining('is that of node shop/app-1'),
        });
      },
      patienceMs,
    );
  },
);
