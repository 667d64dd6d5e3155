import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ChefAutomator } from '../../../../src/plugins/automators/chef/chef.js';
import { processesWith } from '../../../harness/processes.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { storedArchive } from '../../../harness/automators/stored.js';
import { closeAll, toolOn } from '../../../harness/automators/tool.js';
import { until } from '../../../harness/until.js';

/** Notes its words and the files that they name. */
const standIn = `#!/bin/sh
printf '%s\\n' "$@" > "$HOME/words"
cp "$2" "$HOME/solo.rb"
cp "$4" "$HOME/node.json"
echo "web.version=1" >> "$HEDDLE_RESULT"
if [ -e "$HOME/fail" ]; then echo "FATAL: no such cookbook" >&2; exit 42; fi
`;

describe('automator chef, with a stand-in executable instead of real Chef', () => {
  let node: TestNode;
  beforeEach(async () => {
    node = await startNode();
    const bin = join(node.home, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'chef-solo'), standIn, { mode: 0o755 });
    node.env['PATH'] = `${bin}:${node.env['PATH'] ?? ''}`;
  });
  afterEach(async () => {
    await closeAll();
    await node.close();
  });
  const read = (name: string): string => readFileSync(join(node.home, name), 'utf8');

  test('passes its run list, configuration and attributes, and returns results', async () => {
    const fields = {
      runList: ['recipe[web::install]', 'role[base]'],
      attributes: { size: { y: 3 }, web: { port: 8080 } },
      cookbooks: "/srv/it's/books",
      roles: '/srv/roles',
      sudo: false,
    };
    const { automator } = toolOn(ChefAutomator, node, fields);
    await automator.bootstrap();
    expect(await automator.install({ user: 'tester' }, '', 'some data')).toEqual({
      result: { 'web.version': '1' },
    });
    const words = read('words').trim().split('\n');
    expect(words.map((word) => word.replace(/^.*\/(?=solo\.rb|node\.json)/, ''))).toEqual([
      '--config',
      'solo.rb',
      '--json-attributes',
      'node.json',
      '--override-runlist',
      'recipe[web::install],role[base]',
      '--no-color',
    ]);
    expect(read('solo.rb')).toBe("cookbook_path '/srv/it\\'s/books'\nrole_path '/srv/roles'\n");
    expect(JSON.parse(read('node.json'))).toMatchObject({
      colour: 'blue',
      size: { x: 1, y: 3 },
      web: { port: 8080 },
      heddle: {
        cluster: 'shop',
        node: 'app-1',
        service: 'web',
        action: 'INSTALL',
        data: 'some data',
        payload: { 'web.port': '8080' },
        nodes: { 'app-1': { ipaddress: '127.0.0.8' } },
      },
    });
    expect(read('node.json')).not.toContain('PASSWORD-OF-NODE');
  });

  test('finds cookbooks of the store on the node, and copies each content once', async () => {
    const cookbooks = storedArchive(node.home, { 'web/metadata.rb': "name 'web'\n" });
    const folder = join(node.home, '.heddle', 'resources', cookbooks.digest.slice('sha256:'.length));
    const fields = { runList: ['web'], cookbooks: cookbooks.path, sudo: false };
    await toolOn(ChefAutomator, node, fields, 'one', { cookbooks }).automator.carryOut('', '');
    expect(read('solo.rb')).toBe(`cookbook_path '${folder}'\n`);
    expect(readFileSync(join(folder, 'web', 'metadata.rb'), 'utf8')).toBe("name 'web'\n");
    const { ino } = statSync(folder);
    await toolOn(ChefAutomator, node, fields, 'two', { cookbooks }).automator.carryOut('', '');
    expect(statSync(folder).ino).toBe(ino);
    expect(readdirSync(join(folder, '..'))).toEqual([cookbooks.digest.slice('sha256:'.length)]);
  });

  test('reports the last output and the exit code of a failure', async () => {
    writeFileSync(join(node.home, 'fail'), '');
    const { automator } = toolOn(ChefAutomator, node, { runList: ['web'], sudo: false });
    await expect(automator.install({ user: 'tester' }, '', '')).rejects.toMatchObject({
      kind: 'ScriptFailed',
      exitCode: 42,
      message: expect.stringContaining('FATAL: no such cookbook'),
    });
  });

  test('ends all processes of a cancelled run in any session, and no similar ones', async () => {
    const waits = (word: string): string =>
      `sh -c "trap : TERM; while :; do sleep 0.1; done; : ${node.home}/${word}" > /dev/null 2>&1 &`;
    writeFileSync(
      join(node.home, 'bin', 'chef-solo'),
      `#!/bin/sh
setsid ${waits('own')}
HEDDLE_RUN=$HEDDLE_RUN-2 OF="HEDDLE_RUN=$HEDDLE_RUN" setsid ${waits('other')}
echo $! > "$HOME/other.pid"
touch "$HOME/started"
sleep 61; : ${node.home}/own
`,
      { mode: 0o755 },
    );
    const cancel = new AbortController();
    const { automator } = toolOn(
      ChefAutomator,
      node,
      { runList: ['web'], sudo: false },
      'op',
      {},
      { signal: cancel.signal },
    );
    const run = automator.install({ user: 'tester' }, '', '').catch((error: unknown) => error);
    await until('it runs', () => existsSync(join(node.home, 'started')));
    cancel.abort();
    expect(await run).toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('was cancelled'),
    });
    const left = [processesWith(`${node.home}/own`), processesWith(`${node.home}/other`).length];
    process.kill(Number(read('other.pid')), 'SIGKILL');
    expect(left).toEqual([[], 1]);
  });

  test.each([
    [{ runList: [] }, 'runList'],
    [{ runList: ['--help'] }, 'runList[0]'],
    [{ runList: ['web,other'] }, 'runList[0]'],
    [{ runList: ['web'], cookbooks: 'books' }, 'cookbooks'],
    [{ runList: ['web'], roles: '/a\nsystem("id")' }, 'roles'],
    [{ runList: ['web'], attributes: [] }, 'attributes'],
  ])('refuses %j', async (fields, named) => {
    await expect(toolOn(ChefAutomator, node, fields).automator.carryOut('', '')).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining(`field ${named} `),
    });
  });

  test('names what a node without chef needs', async () => {
    const bare = await startNode();
    await expect(toolOn(ChefAutomator, bare, {}).automator.bootstrap()).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('the node has no cinc-solo or chef-solo'),
    });
    await closeAll();
    await bare.close();
  });
});
