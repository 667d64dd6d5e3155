import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JsonObject, PluginLog, Task } from '../../../../src/plugins/contract.js';
import { ShellAutomator } from '../../../../src/plugins/automators/shell/shell.js';
import { createPool, type ConnectionPool } from '../../../../src/ssh/pool.js';
import { createShell } from '../../../../src/ssh/shell.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { storedArchive } from '../../../harness/automators/stored.js';

let node: TestNode;
let pool: ConnectionPool;
beforeEach(async () => {
  node = await startNode();
  pool = createPool();
});
afterEach(async () => {
  await pool.closeAll();
  await node.close();
});

const log: PluginLog = {
  debug() {
    /* not looked at */
  },
  info() {
    /* nor this */
  },
  warn() {
    /* nor this */
  },
  error() {
    /* nor this */
  },
};
const auth = { user: 'tester' };

const task: Task = {
  taskId: '3f0c/app-2#1/web/INSTALL/op-1',
  taskName: 'INSTALL',
  clusterId: 'shop',
  clusterUid: '3f0c',
  nodeId: 'app-2',
  incarnation: 1,
  attempt: 1,
  config: {
    ipaddress: '127.0.0.9',
    'ssh-auth': { user: 'tester', password: 'PASSWORD-OF-NODE' },
    'web.port': '8080',
  },
  nodes: {
    'db-1': { hostname: 'shop-db-1', services: [], nodenum: 3, group: 'db' },
    'app-1': {
      hostname: 'shop-app-1',
      ipaddress: '127.0.0.8',
      services: ['web', 'metrics'],
      nodenum: 1,
      group: 'app',
    },
    'app-2': { hostname: 'shop-app-2', ipaddress: '127.0.0.9', services: ['web'], nodenum: 2, group: 'app' },
  },
  cluster: { colour: 'blue' },
  provider: { name: 'lab', type: 'local', fields: { apiKey: 'KEY-OF-PROVIDER' } },
};

function automator(fields: JsonObject = {}, more: Partial<Task> = {}, output: Buffer[] = []): ShellAutomator {
  const full: Task = { ...task, ...more, service: { name: 'web', action: { type: 'shell', fields } } };
  const shell = createShell({
    pool,
    target: node.target,
    runId: `${full.taskId}.1`,
    log,
    onOutput: (_stream, chunk) => {
      output.push(chunk);
    },
  });
  return new ShellAutomator({ task: full, log, signal: new AbortController().signal, fields: {}, shell });
}

test('gives a script its data, on standard input and as a file that ends with the run', async () => {
  const output: Buffer[] = [];
  const script =
    'cat; echo; cmp "$HEDDLE_DATA" - < "$HEDDLE_DATA" && cat "$HEDDLE_DATA"; ls -l "$HEDDLE_DATA" | cut -c1-10; echo "file=$HEDDLE_DATA" > "$HEDDLE_RESULT"';
  const { result } = await automator({}, {}, output).install(auth, script, 'listen 80;\ntls off;');
  expect(Buffer.concat(output).toString()).toBe('listen 80;\ntls off;\nlisten 80;\ntls off;-rw-------\n');
  expect(existsSync(result?.['file'] as string)).toBe(false);
});

test('passes the facts of its task to a script as plain text', async () => {
  const output: Buffer[] = [];
  await automator({}, {}, output).start(auth, 'env | grep ^HEDDLE_ | grep -v /.heddle/ | LC_ALL=C sort', '');
  expect(Buffer.concat(output).toString().trim().split('\n')).toEqual([
    'HEDDLE_ACTION=INSTALL',
    'HEDDLE_CLUSTER=shop',
    'HEDDLE_DATA=/dev/null',
    'HEDDLE_HOSTNAME=shop-app-2',
    'HEDDLE_IPADDRESS=127.0.0.9',
    'HEDDLE_NODE=app-2',
    'HEDDLE_NODENUM=2',
    'HEDDLE_SERVICE=web',
  ]);
});

test('lists the peers one per line for `while read`', async () => {
  const output: Buffer[] = [];
  const script =
    'while read -r node hostname address number services; do echo "$number:$node:$hostname:$address:$services"; done < "$HEDDLE_NODES"';
  await automator({}, {}, output).configure(auth, script, '');
  expect(Buffer.concat(output).toString()).toBe(
    '1:app-1:shop-app-1:127.0.0.8:web,metrics\n2:app-2:shop-app-2:127.0.0.9:web\n3:db-1:shop-db-1:-:-\n',
  );
});

test("passes the task as JSON without the login, the provider's fields and its own", async () => {
  const output: Buffer[] = [];
  await automator({ script: 'x', environment: { TOKEN: 'SECRET-OF-USER' } }, {}, output).init(
    auth,
    'cat "$HEDDLE_TASK"',
    '',
  );
  const text = Buffer.concat(output).toString();
  // Scripts without a JSON parser read it by lines.
  expect(text).toMatch(/^\{\n {2}"taskId": /);
  expect(text).toMatch(/\n {2}"nodes": \{\n {4}"/);
  expect(JSON.parse(text)).toMatchObject({
    taskId: task.taskId,
    config: { 'web.port': '8080' },
    provider: { name: 'lab' },
    service: { name: 'web' },
    cluster: { colour: 'blue' },
  });
  expect(text).not.toMatch(/PASSWORD-OF-NODE|KEY-OF-PROVIDER|SECRET-OF-USER/);
});

test('provides a look-up for scripts without a JSON parser', async () => {
  const output: Buffer[] = [];
  const cluster = {
    colour: 'blue',
    odd: 'a\\nb\n\tc %s $HOME "',
    list: ['x', 2, { deep: true }],
    none: null,
    flag: false,
  };
  const script = `
    for path in cluster/colour cluster/odd cluster/list cluster/list/2/deep cluster/none cluster/flag config/web.port nodes nodes/app-1/services nodes/app-1/ipaddress data/port service/name; do
      printf '[%s]' "$(heddle-get "$path")"
    done
    printf '[%s][%s]' "$(heddle-get cluster/missing otherwise)" "$(sh "$HEDDLE_GET" taskName)"
    heddle-get 'clus*' 2>&1 && exit 1
    heddle-get config/ssh-auth/password 2>&1 || echo "exit $?"`;
  await automator({}, { cluster }, output).configure(auth, script, '{"port": 80}');
  const values = [
    'blue',
    cluster.odd,
    'x\n2\n{"deep":true}',
    'true',
    '',
    'false',
    '8080',
    'db-1\napp-1\napp-2',
    'web\nmetrics',
    '127.0.0.8',
    '80',
    'web',
    'otherwise',
    'INSTALL',
  ];
  expect(Buffer.concat(output).toString()).toBe(
    `${values.map((value) => `[${value}]`).join('')}heddle-get: there is no clus*\nheddle-get: there is no config/ssh-auth/password\nexit 1\n`,
  );
});

test('passes arguments and environment unchanged', async () => {
  const output: Buffer[] = [];
  const words = ['two words', `it's "quoted"`, '$HOME `id` \\', '', 'line\nbreak', '-n', '*', 7, true];
  const environment = { PLAIN: 'a b', ODD: `'"$(id)\`\\\n!`, NUMBER: 3 };
  await automator({ arguments: words, environment }, {}, output).install(
    auth,
    'for word in "$@"; do printf "<%s>" "$word"; done; printf "[%s]" "$PLAIN" "$ODD" "$NUMBER" "$#" "${HEDDLE_WORDS-unset}"',
    '',
  );
  expect(Buffer.concat(output).toString()).toBe(
    `${words.map((word) => `<${word}>`).join('')}[a b][${environment.ODD}][3][9][unset]`,
  );
});

test.each([
  ['from its first line', '#!/usr/bin/env -S sh -u\necho "$-"; echo "$0 $1"', {}],
  ['from the field', 'echo "$-"; echo "$0 $1"', { interpreter: 'sh -u' }],
])('executes a script with the interpreter %s', async (_name, script, fields) => {
  const output: Buffer[] = [];
  await automator({ ...fields, arguments: ['first'] }, {}, output).install(auth, script, '');
  expect(Buffer.concat(output).toString()).toMatch(/^\w*u\w*\n\S+\/script first\n$/);
});

test('reports the failing script with its exit code and last output', async () => {
  await expect(
    automator().install(auth, 'echo working; echo "no such package: foo" >&2; exit 4', ''),
  ).rejects.toMatchObject({
    name: 'PluginError',
    kind: 'ScriptFailed',
    exitCode: 4,
    stdout: 'working\n',
    stderr: 'no such package: foo\n',
    message: 'the script ended with exit code 4 and last printed: no such package: foo',
  });
});

test('accepts expected exit codes as success', async () => {
  await expect(automator({ expectedExitCodes: [0, 3] }).stop(auth, 'exit 3', '')).resolves.toEqual({});
  await expect(
    automator({ expectedExitCodes: [1] }, { taskId: 'other' }).stop(auth, 'exit 0', ''),
  ).rejects.toMatchObject({ kind: 'ScriptFailed' });
});

test('returns what the script wrote to HEDDLE_RESULT', async () => {
  const { result } = await automator().install(
    auth,
    'echo port=8080 > "$HEDDLE_RESULT"; echo "url=http://x/?a=b" >> "$HEDDLE_RESULT"',
    '',
  );
  expect(result).toEqual({ port: '8080', url: 'http://x/?a=b' });
});

test('executes the script of a task once over all attempts', async () => {
  for (let attempt = 1; attempt <= 3; attempt++)
    await automator({}, { attempt }).install(auth, 'echo run >> "$HOME/runs"', '');
  expect(readFileSync(join(node.home, 'runs'), 'utf8')).toBe('run\n');
});

test('leaves no data, script or environment on the node', async () => {
  await automator({ environment: { TOKEN: 'CANARY-ENV' } }).install(auth, ': CANARY-SCRIPT', 'CANARY-DATA');
  for (const entry of readdirSync(node.home, { recursive: true, encoding: 'utf8' })) {
    const path = join(node.home, entry);
    if (statSync(path).isFile()) expect(readFileSync(path, 'utf8'), entry).not.toContain('CANARY');
  }
});

test('prepares a node repeatably, and installs nothing there', async () => {
  await automator().bootstrap();
  await automator().bootstrap();
  expect(readdirSync(node.home, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual([
    '.heddle',
    '.heddle/runs',
  ]);
  expect(statSync(join(node.home, '.heddle')).mode & 0o777).toBe(0o700);
});

test.each([
  [{ arguments: [{}] }, 'arguments[0]'],
  [{ environment: { LIST: [] } }, 'environment.LIST'],
  [{ environment: { HEDDLE_NODE: 'x' } }, 'environment.HEDDLE_NODE'],
  [{ environment: { 'not a name': 'x' } }, 'not a name'],
  [{ environment: { UID: '0' } }, 'UID'],
  [{ expectedExitCodes: [256] }, 'expectedExitCodes[0]'],
  [{ interpreter: ' ' }, 'interpreter'],
])('refuses %j before it starts anything', async (fields, named) => {
  await expect(automator(fields).install(auth, 'touch started', '')).rejects.toMatchObject({
    kind: 'Invalid',
    message: expect.stringContaining(named),
  });
  expect(existsSync(join(node.home, 'started'))).toBe(false);
});

test('refuses an empty script', async () => {
  await expect(automator().install(auth, ' \n', '')).rejects.toMatchObject({
    kind: 'Invalid',
    message: expect.stringContaining('is empty'),
  });
});

test('executes a script of a folder from the store, which is on the node completely', async () => {
  const scripts = storedArchive(node.home, {
    'bin/go': '#!/usr/bin/env sh\n. "$HEDDLE_SCRIPTS/lib.sh"\nhello "$1"\n',
    'lib.sh': 'hello() { echo "hello $1"; }\n',
  });
  const output: Buffer[] = [];
  const fields = { scripts: scripts.path, file: 'bin/go', arguments: ['you'] };
  await automator(fields, { resources: { scripts } }, output).install(auth, '', '');
  expect(Buffer.concat(output).toString()).toBe('hello you\n');
});

test('executes a script file of the store, and a text beside a folder of the store', async () => {
  const scripts = storedArchive(node.home, { 'lib.sh': 'echo from lib\n' });
  const output: Buffer[] = [];
  await automator({ scriptFile: join(scripts.path, 'lib.sh') }, { taskId: 'one' }, output).install(
    auth,
    '',
    '',
  );
  await automator({ scripts: scripts.path }, { taskId: 'two', resources: { scripts } }, output).install(
    auth,
    'sh "$HEDDLE_SCRIPTS/lib.sh"',
    '',
  );
  expect(Buffer.concat(output).toString()).toBe('from lib\nfrom lib\n');
});

test.each([
  ['two scripts', { scriptFile: '/x' }, 'echo', 'script and scriptFile are set'],
  ['a file and no folder', { file: 'a' }, '', 'file requires scripts'],
  [
    'a file outside of the folder',
    { scripts: '/x', file: 'a/../../b' },
    '',
    'file is not a path inside scripts',
  ],
  ['an absolute file', { scripts: '/x', file: '/etc/passwd' }, '', 'file is not a path inside scripts'],
  ['a file that is not there', { scripts: '/x', file: 'a' }, '', 'file a does not exist in the resource'],
])('refuses %s', async (_what, fields, script, wrong) => {
  await expect(automator(fields).install(auth, script, '')).rejects.toMatchObject({
    kind: 'Invalid',
    message: expect.stringContaining(wrong),
  });
});

test('a script with the line ends of Windows runs like any other', async () => {
  const output: Buffer[] = [];
  const script = 'set -e\r\nif true; then\r\n  printf "[%s]" one\r\nfi\r\ncat\r\n';
  await automator({}, {}, output).install(auth, script, 'a\r\nb');
  expect(Buffer.concat(output).toString()).toBe('[one]a\r\nb');
});
