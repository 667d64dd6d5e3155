import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ComposeAutomator } from '../../../../src/plugins/automators/compose/compose.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { closeAll, toolOn } from '../../../harness/automators/tool.js';

describe('automator compose', () => {
  let node: TestNode;
  beforeEach(async () => {
    node = await startNode({ env: { PATH: '/usr/bin:/bin' } });
  });
  afterEach(async () => {
    await closeAll();
    await node.close();
  });

  test('names what a node without a compose program needs', async () => {
    const admin = { program: '/no/such/podman-compose' };
    await expect(
      toolOn(ComposeAutomator, node, {}, 'op', {}, { admin }).automator.bootstrap(),
    ).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('/no/such/podman-compose does not run'),
    });
    // Docker without its compose plugin answers so too.
    const bin = join(node.home, 'bin');
    mkdirSync(bin);
    for (const name of ['docker', 'docker-compose', 'podman-compose'])
      writeFileSync(join(bin, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    node.env['PATH'] = `${bin}:/usr/bin:/bin`;
    await expect(toolOn(ComposeAutomator, node, {}).automator.bootstrap()).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('docker-compose-plugin'),
    });
  });

  test.each([
    [{ file: ' ' }, 'file is empty'],
    [{ files: { 'a.conf': '' } }, 'files requires file in the same action'],
    [{ environment: { A: 'b' } }, 'environment requires file in the same action'],
    [{ file: 'a', files: { '../a': '' } }, 'files.../a'],
    [{ file: 'a', files: { '/etc/passwd': '' } }, 'files./etc/passwd'],
    [{ file: 'a', files: { 'compose.yaml': '' } }, 'set by Heddle'],
    [{ file: 'a', files: { 'a b': '' } }, 'files.a b'],
    [{ file: 'a', environment: { 'A-B': '' } }, 'environment.A-B'],
    [{ file: 'a', environment: { COMPOSE_FILE: 'x' } }, 'set by Heddle'],
    [{ file: 'a', environment: { A: ['x'] } }, 'environment.A must be text'],
    [{ project: 'Big' }, 'project must consist of lower-case'],
    [{ run: { service: '--help' } }, 'run.service'],
    [{ run: { service: 'a', comand: [] } }, 'run'],
    [{ wait: 0 }, 'wait'],
  ])('refuses %j', async (fields, named) => {
    await expect(toolOn(ComposeAutomator, node, fields).automator.carryOut('', '')).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining(named),
    });
  });

  test('refuses an INITIALIZE without a command', async () => {
    const { automator } = toolOn(
      ComposeAutomator,
      node,
      { file: 'services: {}' },
      'op',
      {},
      { taskName: 'INITIALIZE' },
    );
    await expect(automator.carryOut('', '')).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('run is missing: INITIALIZE'),
    });
  });
});
