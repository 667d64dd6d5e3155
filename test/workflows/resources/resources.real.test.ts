import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { contentOf } from '../../../src/client/artifact/content.js';
import { artifactPartWorkflowId } from '../../../src/model/names.js';
import { writeArchive } from '../../../src/store/archive/write-archive.js';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';
import { type Ended, runHeddle, startHeddle } from '../../harness/cli/run-heddle.js';
import { closed, nodes } from '../../harness/workflows/spec.js';

/**
 * A folder with a script that leaves a word, by way of a second one beside it, in a file outside of all
 * machines.
 */
function scripts(word: string): Uint8Array {
  return writeArchive([
    {
      path: 'bin/install.sh',
      kind: 'file',
      executable: true,
      bytes: Buffer.from('. "$HEDDLE_SCRIPTS/lib.sh"\nsay "$LEDGER"\n'),
    },
    { path: 'lib.sh', kind: 'file', bytes: Buffer.from(`say() { echo "$HEDDLE_NODE ${word}" >>"$1"; }\n`) },
  ]);
}

describe('resources in detail', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ config: { plugins: ['./plugins'] } });
    await writeReader(join(stack.folder, 'plugins', 'automators', 'reader'));
    await stack.startWorker();
  });

  const ledgerOf = (name: string): string => join(stack.folder, `ledger-${name}`);
  const linesOf = async (name: string): Promise<readonly string[]> =>
    (await readFile(ledgerOf(name), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const specOf = (name: string, resource: object, more: object = {}): ReturnType<typeof closed> =>
    closed({
      name,
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: {
          actions: {
            install: {
              type: 'shell',
              fields: {
                scripts: resource,
                file: 'bin/install.sh',
                environment: { LEDGER: ledgerOf(name) },
                ...more,
              },
            },
          },
        },
      },
    });
  const done = async (name: string, { operation }: { readonly operation: string }): Promise<void> => {
    expect((await stack.client.waitFor(name, operation)).operation).toMatchObject({ state: 'done' });
  };

  it('reach a worker that shares no disk with the others', async () => {
    const { client } = stack;
    await client.resources.put('shared', { format: 'archive', bytes: scripts('shared') });
    await done('spread', await client.apply(specOf('spread', { resource: 'shared' })));
    const [other] = await Promise.all([stack.startWorker('other'), stack.startWorker('third')]);
    expect(existsSync(join(other.dataFolder, 'store', 'resources'))).toBe(false);
    const sites = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        client.apply(specOf(`spread-${index}`, { resource: 'shared' })),
      ),
    );
    for (const [index, reply] of sites.entries()) await done(`spread-${index}`, reply);
    expect(await linesOf('spread-5')).toEqual(['app-1 shared']);
    await until('another worker to have it', () =>
      Promise.resolve(
        ['other', 'third'].some((name) => existsSync(join(stack.folder, name, 'store', 'resources'))),
      ),
    );
  });

  it('that are unused are pruned, with their content; those that are active, previous, or in a cluster stay', async () => {
    const { client } = stack;
    const { resources } = client;
    const versions = [];
    for (const word of ['one', 'two', 'three', 'four']) {
      const version = await resources.put('many', { format: 'archive', bytes: scripts(word) });
      await resources.set('many', version.version);
      versions.push(version);
      if (word === 'one') await done('keeps', await client.apply(specOf('keeps', { resource: 'many' })));
    }
    expect((await resources.prunable()).versions).toEqual([]);
    const { versions: found, pruning } = await resources.prunable(-60_000);
    expect(found.filter(({ name }) => name === 'many')).toMatchObject([{ version: 2 }]);
    await resources.prune(pruning);
    expect((await resources.catalogue())['many']?.versions.map(({ version }) => version)).toEqual([1, 3, 4]);
    const part = client.temporal.workflow.getHandle(artifactPartWorkflowId(versions[1]?.digest ?? '', 0));
    await until(
      'the content of version 2 to end',
      async () => (await part.describe()).status.name === 'COMPLETED',
    );
    await rm(join(stack.folder, 'worker', 'store', 'resources'), { recursive: true });
    await done('keeps', await client.operate('keeps', { kind: 'replace', nodes: ['app-1'] }));
    expect(await linesOf('keeps')).toEqual(['app-1 one', 'app-1 one']);
  });

  it('reach plugins that are programs, in the task', async () => {
    const { client } = stack;
    const { digest } = await client.resources.put('notes', {
      format: 'archive',
      bytes: writeArchive([{ path: 'a/note', kind: 'file', bytes: Buffer.from('from the store') }]),
    });
    const ledger = ledgerOf('program');
    const spec = closed({
      name: 'program',
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: { actions: { install: { type: 'reader', fields: { notes: { resource: 'notes' }, ledger } } } },
      },
    });
    await done('program', await client.apply(spec));
    expect(JSON.parse(await readFile(ledger, 'utf8'))).toEqual({
      note: 'from the store',
      mode: '0o440',
      same: true,
      resource: { resource: 'notes', digest, format: 'archive' },
    });
  });

  describe('on the command line', () => {
    const run = (...words: readonly string[]): Promise<Ended> =>
      runHeddle(words, {
        distPath: inject('distPath'),
        cwd: stack.folder,
        env: {
          HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
          TEMPORAL_ADDRESS: inject('temporalAddress'),
          TEMPORAL_NAMESPACE: stack.namespace,
        },
      });

    it('a resource is put, activated, listed, rolled back, read and removed', async () => {
      const folder = join(stack.folder, 'books');
      await mkdir(join(folder, 'web'), { recursive: true });
      await writeFile(join(folder, 'web', 'metadata.rb'), 'one');
      expect(await run('resource', 'put', 'books', folder)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^resource books: version 1, archive of 2560 bytes, sha256:[0-9a-f]{64}\nIt is set: clusters use it from their next apply\.\n$/,
        ),
      });
      await writeFile(join(folder, 'web', 'metadata.rb'), 'two');
      expect(await run('resource', 'put', 'books', folder)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Version 1 is set. To change that:  heddle resource set books 2\n'),
      });
      expect(await run('resource', 'set', 'books', '2')).toMatchObject({
        code: 0,
        stdout: 'resource books: version 2 is set; clusters use it from their next apply\n',
      });
      expect(await run('resource', 'list', 'books')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/\nbefore  1 [^]*\nset     2 /),
      });
      expect(JSON.parse((await run('resource', 'list', '--json')).stdout)).toMatchObject({
        resources: expect.arrayContaining([expect.objectContaining({ name: 'books', set: 2, before: [1] })]),
      });
      const to = join(stack.folder, 'taken');
      expect(await run('resource', 'get', 'books', to, '--version', '1')).toMatchObject({
        code: 0,
        stdout: `${to}: version 1 of books\n`,
      });
      expect(await readFile(join(to, 'web', 'metadata.rb'), 'utf8')).toBe('one');
      expect(await run('resource', 'get', 'books', to)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('already exists'),
      });
      expect(await run('resource', 'rollback', 'books')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('version 1 is set'),
      });
      expect(await run('resource', 'rollback', 'books')).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('no other version of resource books was set before'),
      });
      expect(await run('resource', 'set', 'books', 'none')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('no version is set'),
      });
      expect(await run('resource', 'prune', '--dry-run')).toMatchObject({
        code: 0,
        stdout: 'There is nothing to remove.\n',
      });
    });

    it('a wrong resource is refused with its place in the cluster file', async () => {
      const file = join(stack.folder, 'odd.yaml');
      await writeFile(
        file,
        `name: odd
nodes: {app: {count: 1, provider: local, hardware: small, image: host, services: [web]}}
services:
  web:
    actions:
      install: {type: shell, fields: {scripts: {resource: nowhere}, file: install.sh}}
`,
      );
      expect(await run('apply', file)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          `${file}:6:39: services.web.actions.install.fields.scripts: names resource "nowhere", which does not exist`,
        ),
      });
      expect(await run('resource', 'put', 'odd', join(stack.folder, 'nowhere'))).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('cannot be read'),
      });
      expect(await run('resource', 'put', 'odd/name', file)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining('the name of the resource is invalid. Letters, digits'),
      });
      expect(await run('resource', 'set', 'nowhere', '1')).toMatchObject({
        code: 4,
        stderr: expect.stringContaining('resource nowhere does not exist'),
      });
      const linked = join(stack.folder, 'linked');
      await mkdir(linked);
      await symlink('/etc/passwd', join(linked, 'passwd'));
      expect(await run('resource', 'put', 'linked', linked)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          '"passwd" is a link to "/etc/passwd", which is not a path within the archive',
        ),
      });
    });

    it('do not exist if the sender is killed; sent again they are complete', async () => {
      const file = join(stack.folder, 'large');
      const bytes = randomBytes(12 * 1024 * 1024);
      await writeFile(file, bytes);
      const { digest } = contentOf({ format: 'file', bytes });
      const words = ['resource', 'put', 'large', file];
      const settings = {
        distPath: inject('distPath'),
        cwd: stack.folder,
        env: {
          HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
          TEMPORAL_ADDRESS: inject('temporalAddress'),
          TEMPORAL_NAMESPACE: stack.namespace,
        },
      };
      const sender = startHeddle(words, settings);
      const first = stack.client.temporal.workflow.getHandle(artifactPartWorkflowId(digest, 0));
      await until('the first part to be there', () =>
        first.describe().then(
          () => true,
          () => false,
        ),
      );
      sender.child.kill('SIGKILL');
      expect((await sender.ended).code).toBeUndefined();
      expect(await stack.client.resources.catalogue()).not.toHaveProperty('large');
      await expect(stack.client.plan(specOf('large', { resource: 'large' }))).rejects.toThrow();
      expect(await runHeddle(words, settings)).toMatchObject({ code: 0 });
      expect(Buffer.compare(Buffer.from(await stack.client.resources.read(digest)), bytes)).toBe(0);
    });
  });
});

/** An automator that is a program: what it finds of its resource goes into a file. */
async function writeReader(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'reader.json'),
    JSON.stringify({
      name: 'reader',
      type: 'automator',
      command: ['./reader.py'],
      version: '1.0.0',
      description: 'Reads a resource',
      prepares: 'users',
      resources: { notes: { format: 'archive', permissions: '0440' } },
      fields: {
        user: {
          notes: { title: 'Notes', type: 'resource', resource: 'notes' },
          ledger: { title: 'Ledger', type: 'string' },
        },
      },
    }),
  );
  await writeFile(
    join(folder, 'reader.py'),
    `#!/usr/bin/env python3
import json, os, sys
task = json.loads(sys.stdin.readline())
if task["call"] == "install":
    fields, resource = task["service"]["action"]["fields"], task["resources"]["notes"]
    file = os.path.join(fields["notes"], "a", "note")
    found = {"note": open(file).read(), "mode": oct(os.stat(file).st_mode & 0o777), "same": resource.pop("path") == fields["notes"] and os.path.isfile(resource.pop("archive"))}
    with open(fields["ledger"], "w") as ledger:
        json.dump({**found, "resource": resource}, ledger)
print(json.dumps({"status": 0}))
`,
    { mode: 0o755 },
  );
}
