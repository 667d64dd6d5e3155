import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { openGround } from '../harness/image/ground.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { nodes } from '../harness/workflows/spec.js';

describe('the commands of images say what they wait for', () => {
  let stack: Stack;
  let gate: string;
  const { run } = heddleOn(() => stack);
  const apply = async (name: string, how: object): Promise<void> => {
    const file = join(stack.folder, `${name}.yaml`);
    writeFileSync(file, stringify({ name, ...how }));
    expect(await run('image', 'apply', file)).toMatchObject({ code: 0 });
  };

  beforeAll(async () => {
    const accounts: Record<string, object | 'service'> = {};
    const config: Record<string, unknown> = {};
    stack = await startStack({ accounts, config });
    accounts['other'] = {
      type: 'local',
      fields: { endpoint: stack.service.endpoint, apiKey: { secret: `file:${stack.service.apiKeyFile}` } },
    };
    gate = join(stack.folder, 'gate');
    const pack =
      'mkdir files; echo hello >files/greeting; while [ ! -e "$GATE" ]; do sleep 0.1; done; tar -cf "$HEDDLE_OUTPUT.tar" files; cp "$HEDDLE_OUTPUT.tar" "$HEDDLE_OUTPUT.qcow2"';
    config['builder'] = {
      builds: 1,
      commands: { pack: { run: ['/bin/sh', '-c', pack], variables: { GATE: '/.+' } } },
    };
    await stack.startWorker();
  });

  it('a build names the builder, then the build whose place it needs, and ends with that at its time limit', async () => {
    const command = { run: 'pack', environment: { GATE: gate }, formats: ['tar'] };
    await apply('first', { command, uploads: [{ provider: 'local' }], validate: false });
    await apply('second', { command, uploads: [{ provider: 'local' }], validate: false });
    const alone = await run('image', 'build', 'first', '--timeout', '6s');
    expect(alone).toMatchObject({ code: 1 });
    expect(alone.stdout).toMatch(
      /waits for a builder of site default: none polls queue heddle\.default\/build/,
    );
    expect(alone.stderr).toMatch(
      /the build of image first did not end within 6\.0 s, .*heddle builder start/,
    );

    await stack.startBuilder();
    expect(await run('image', 'build', 'second', '--no-wait')).toMatchObject({ code: 0 });
    const taken = await run('image', 'build', 'second', '--timeout', '6s');
    expect(taken).toMatchObject({ code: 1 });
    expect(taken.stderr).toContain('all 1 permits for builds at site default are in use, by image/first');
    await openGround(stack).openGate(gate);
    expect(await run('image', 'build', 'first', '--timeout', '2m')).toMatchObject({ code: 0 });
    expect(await run('image', 'build', 'second', '--timeout', '2m')).toMatchObject({ code: 0 });
  });

  it('an upload is retried on request, and ends with the reason where it fails again', async () => {
    await apply('twice', {
      command: { run: 'pack', environment: { GATE: gate }, formats: ['tar', 'qcow2'] },
      uploads: [{ provider: 'local' }, { provider: 'other', format: 'qcow2' }],
      validate: false,
    });
    expect(await run('image', 'build', 'twice', '--timeout', '2m')).toMatchObject({ code: 0 });
    const again = await run('image', 'upload', 'twice', '--timeout', '1m');
    expect(again, again.stderr).toMatchObject({ code: 1 });
    expect(again.stdout, again.stderr).toMatch(/local: ready.*\nother: failed: .*accepts tar/);
    expect(again.stderr).toContain('build 1 was not uploaded to other');
    const shown = await run('image', 'show', 'twice');
    expect(shown, shown.stderr).toMatchObject({ code: 0 });
    expect(shown.stdout).toMatch(/from command pack, recipe [0-9a-f]{16}, by /);
    expect((await run('image', 'upload', 'twice', '--no-wait', '--json')).stdout).toContain('"build"');
    const nothing = await run('image', 'upload', 'nosuch');
    expect(nothing).toMatchObject({ code: 4 });
  });

  it('uploads to one account are paused, shown as such, and follow after resume', async () => {
    await apply('held', {
      command: { run: 'pack', environment: { GATE: gate }, formats: ['tar'] },
      uploads: [{ provider: 'local' }],
      validate: false,
    });
    const unknown = await run('image', 'pause', 'held', '--uploads', 'lcoal');
    expect(unknown.stderr).toContain('image held is not uploaded to lcoal; it is uploaded to local');
    const notPaused = await run('image', 'resume', 'held', '--uploads', 'local');
    expect(notPaused.stderr).toContain('uploads of image held to local are not paused');
    expect(await run('image', 'pause', 'held', '--uploads', 'local')).toMatchObject({ code: 0 });
    expect(await run('image', 'build', 'held', '--timeout', '2m')).toMatchObject({ code: 0 });
    expect((await run('image', 'list')).stdout).toMatch(/^held .*\(uploads to local paused\)/m);
    const paused = await run('image', 'show', 'held');
    expect(paused.stdout).toMatch(/uploads to local paused by /);
    expect(paused.stdout).toMatch(/local: waiting: uploads to local are paused by/);
    expect((await run('image', 'show', 'held', '--json')).stdout).toContain('"pausedUploads"');
    const waiting = await run('image', 'upload', 'held', '--timeout', '4s');
    expect(waiting.stderr).toContain('build 1 waits: uploads to local are paused by');
    expect(await run('image', 'resume', 'held', '--uploads', 'local')).toMatchObject({ code: 0 });
    const uploaded = await run('image', 'upload', 'held', '--timeout', '1m');
    expect(uploaded, uploaded.stdout).toMatchObject({ code: 0 });
    expect(uploaded.stdout).toMatch(/local: ready/);

    // A build that is validated there waits for the account.
    await apply('held', {
      command: { run: 'pack', environment: { GATE: gate }, formats: ['tar'] },
      uploads: [{ provider: 'local' }],
      validate: { hardware: 'tiny' },
    });
    expect(await run('image', 'pause', 'held', '--uploads', 'local')).toMatchObject({ code: 0 });
    expect(await run('image', 'build', 'held', '--no-wait')).toMatchObject({ code: 0 });
    await until('the build waits', async () =>
      (await run('image', 'show', 'held')).stdout.includes('build 2: building (uploads)'),
    );
    expect(await run('image', 'resume', 'held', '--uploads', 'local')).toMatchObject({ code: 0 });
    await stack.client.images.waitForBuild('held', 2, { everyMs: 200 });
  });

  it('a deletion names the provider that refuses it, and why', async () => {
    const cluster = join(stack.folder, 'user.yaml');
    writeFileSync(
      cluster,
      stringify({
        name: 'user',
        nodes: { app: { ...nodes(1, ['web']), image: 'first@1' } },
        services: { web: { actions: { install: { type: 'shell', fields: { script: 'true' } } } } },
      }),
    );
    expect(await run('apply', cluster)).toMatchObject({ code: 0, stderr: '' });
    const refused = await run('image', 'delete', 'first', '--yes', '--timeout', '6s');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toMatch(
      /the deletion of image first with all its builds did not end within 6\.0 s, .*build 1 could not be deleted at local and is being retried: /,
    );
    expect(await run('delete', 'user', '--yes')).toMatchObject({ code: 0 });
  });
});
