import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PuppetAutomator } from '../../../../src/plugins/automators/puppet/puppet.js';
import { countLines } from '../../../harness/run-fixture.js';
import { processesWith } from '../../../harness/processes.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { closeAll, toolOn } from '../../../harness/automators/tool.js';
import { until } from '../../../harness/until.js';

const isThere = spawnSync('puppet', ['--version']).status === 0;
if (!isThere) console.info('left out what a real puppet applies: npm run setup:extras installs it');

describe.skipIf(!isThere)('a real puppet', () => {
  let node: TestNode;
  beforeEach(async () => {
    node = await startNode();
  });
  afterEach(async () => {
    await closeAll();
    await node.close();
  });

  test('changes what differs from the manifest, once, and reports it', async () => {
    const manifest =
      "file { \"${facts['target']}\": ensure => file, content => \"${facts['heddle_node']} ${facts['heddle_data']} ${facts['port']}\\n\" }";
    const target = join(node.home, 'file');
    const { automator, said } = toolOn(PuppetAutomator, node, {
      manifest,
      facts: { target, port: 8080 },
      sudo: false,
    });
    await automator.bootstrap();
    await automator.install({ user: 'tester' }, '', '{"a": "b c"}');
    expect(readFileSync(target, 'utf8')).toBe('app-1 {"a": "b c"} 8080\n');
    const again = toolOn(
      PuppetAutomator,
      node,
      { manifest, facts: { target, port: 8080 }, sudo: false },
      'again',
    );
    await again.automator.install({ user: 'tester' }, '', '{"a": "b c"}');
    expect([said, again.said]).toEqual([
      expect.arrayContaining(['Puppet changed resources to match the manifest']),
      expect.arrayContaining(['Puppet found all resources matching the manifest']),
    ]);
  });

  test('distinguishes failures from changes', async () => {
    const manifest = `file { '${join(node.home, 'good')}': ensure => file }\nfile { '${join(node.home, 'no/such/bad')}': ensure => file }`;
    const { automator } = toolOn(PuppetAutomator, node, { manifest, sudo: false });
    await expect(automator.install({ user: 'tester' }, '', '')).rejects.toMatchObject({
      kind: 'ScriptFailed',
      exitCode: 6,
      message: expect.stringContaining('No such file or directory'),
    });
    expect(existsSync(join(node.home, 'good'))).toBe(true);
    const broken = toolOn(PuppetAutomator, node, { manifest: 'file {', sudo: false }, 'broken');
    await expect(broken.automator.install({ user: 'tester' }, '', '')).rejects.toMatchObject({
      kind: 'ScriptFailed',
      exitCode: 1,
      message: expect.stringContaining('Syntax error'),
    });
  });

  test.each(['cancelled', 'out of time'])(
    '%s, ends all processes of its execs in any session, and nothing else',
    async (how) => {
      const started = join(node.home, 'started');
      // Puppet gives each exec a session of its own; what an exec starts aside has yet another, and no
      // parent.
      const family = (word: string): string =>
        `setsid sh -c "trap : TERM; while :; do sleep 0.1; done; : ${node.home}/${word}" > /dev/null 2>&1 & echo x >> ${started}; sleep 61; : ${node.home}/${word}`;
      const manifest = (word: string): string =>
        `exec { 'waits': command => '${family(word)}', provider => shell, timeout => 0 }\n`;
      const others = new AbortController();
      const other = toolOn(
        PuppetAutomator,
        node,
        { manifest: manifest('other'), sudo: false },
        'other',
        {},
        { signal: others.signal },
      )
        .automator.install({ user: 'tester' }, '', '')
        .catch((error: unknown) => error);
      await until('the other run waits', () => countLines(started) === 1);
      const cancel = new AbortController();
      const place = how === 'cancelled' ? { signal: cancel.signal } : { timeoutMs: 15_000 };
      const { automator } = toolOn(
        PuppetAutomator,
        node,
        { manifest: manifest('own'), sudo: false },
        how,
        {},
        place,
      );
      const run = automator.install({ user: 'tester' }, '', '').catch((error: unknown) => error);
      await until('it waits as well', () => countLines(started) === 2);
      cancel.abort();
      expect(await run).toMatchObject({
        kind: 'ScriptFailed',
        message: expect.stringContaining(how === 'cancelled' ? 'was cancelled' : 'ran longer than 15 s'),
      });
      expect(processesWith(`${node.home}/own`)).toEqual([]);
      expect(processesWith(`${node.home}/other`)).not.toEqual([]);
      others.abort();
      expect(await other).toMatchObject({ kind: 'ScriptFailed' });
      expect(processesWith(`${node.home}/other`)).toEqual([]);
    },
  );
});
