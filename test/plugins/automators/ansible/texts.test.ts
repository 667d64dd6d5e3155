import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PlayReader } from '../../../../src/plugins/automators/ansible/events.js';
import { readFields, readSettings } from '../../../../src/plugins/automators/ansible/fields.js';
import { inventoryOf, varsOf } from '../../../../src/plugins/automators/ansible/inventory.js';
import { loginFiles } from '../../../../src/plugins/automators/ansible/login.js';
import type { JsonObject, NodeAddress, PluginLog } from '../../../../src/plugins/contract.js';
import { webTask } from './support/player.js';

const address: NodeAddress = {
  host: '127.0.0.9',
  port: 2222,
  user: 'tester',
  password: 'PASSWORD-OF-NODE',
  hostKey: 'ssh-ed25519 AAAA comment',
};
const read = (text: string): unknown => parse(text.replaceAll('!unsafe ', ''));
const fields = (more: JsonObject = {}) => readFields({ playbook: '[]', ...more });

describe('the inventory', () => {
  test('has every node with its address, and groups by group and by service', () => {
    expect(read(inventoryOf(webTask, address, fields()))).toMatchObject({
      all: {
        hosts: {
          'app-1': { ansible_host: '127.0.0.8', heddle_nodenum: 1, heddle_services: ['web', 'metrics'] },
          'db-1': { ansible_host: 'shop-db-1' },
        },
        children: {
          group_app: { hosts: { 'app-1': {}, 'app-2': {} } },
          group_db: { hosts: { 'db-1': {} } },
          service_web: { hosts: { 'app-1': {}, 'app-2': {} } },
          service_data_base: { hosts: { 'db-1': {} } },
        },
      },
    });
  });

  test("contains the login of the task's own node, and no other", () => {
    const {
      all: { hosts },
    } = read(inventoryOf(webTask, address, fields({ become: true }))) as {
      all: { hosts: Record<string, object> };
    };
    expect(hosts['app-2']).toMatchObject({
      ansible_host: '127.0.0.9',
      ansible_port: 2222,
      ansible_user: 'tester',
      ansible_password: 'PASSWORD-OF-NODE',
      ansible_become: true,
    });
    for (const other of ['app-1', 'db-1'])
      expect(Object.keys(hosts[other] ?? {}).filter((key) => /user|password|port|become/.test(key))).toEqual(
        [],
      );
  });

  test('still contains a node that leaves its cluster', () => {
    const { 'app-2': _gone, ...nodes } = webTask.nodes;
    const {
      all: { hosts },
    } = read(
      inventoryOf(
        { ...webTask, nodes, config: { ...webTask.config, hostname: 'shop-app-2' } },
        address,
        fields(),
      ),
    ) as { all: { hosts: Record<string, object> } };
    expect(hosts['app-2']).toMatchObject({ heddle_hostname: 'shop-app-2', ansible_host: '127.0.0.9' });
  });
});

describe('the variables', () => {
  const place = { tmp: '/root/t', result: '/root/r' };
  const odd = '{{ lookup("pipe", "id") }}\n"\\\' \u0085\u2028\u007f é';

  test('describe the task without login and secrets of the provider, and contain no template', () => {
    const text =
      varsOf({ ...webTask, config: { ...webTask.config, motd: odd } }, fields(), odd, place)['heddle.yml'] ??
      '';
    expect(read(text)).toMatchObject({
      heddle: {
        cluster: 'shop',
        node: 'app-2',
        action: 'INSTALL',
        config: { colour: 'blue' },
        payload: { 'web.port': '8080', motd: odd },
        data: odd,
        result: '/root/r',
      },
    });
    expect(text).not.toMatch(/PASSWORD-OF-NODE|KEY-OF-PROVIDER/);
    expect(text).toMatch(/^!unsafe \{/);
  });

  const varsWith = (vars: JsonObject, literal?: readonly string[]): string => {
    const action = { type: 'ansible', fields: {}, ...(literal === undefined ? {} : { literal }) };
    const task = { ...webTask, service: { name: 'web', action } };
    return varsOf(task, fields({ vars }), '', place)['vars.yml'] ?? '';
  };

  test('of the user appear unchanged beside them', () => {
    const vars = { port: 80, name: '{{ heddle.node }}', list: ['{{ a }}'] };
    expect(read(varsWith(vars))).toEqual(vars);
    expect(varsWith(vars)).not.toContain('!unsafe');
  });

  test('of the user are no templates where values of others lie, in keys neither', () => {
    const vars = { own: '{{ a }}', mine: { 'x/y': [odd, { [odd]: odd }] } };
    const text = varsWith(vars, ['/vars/mine/x~1y']);
    expect(read(text)).toEqual(vars);
    expect(text).toContain('"own" : "{{ a }}"');
    expect(text).toContain('? "x/y" : !unsafe ["{{');
  });

  test.each([
    ['{{ 1 }}', '!unsafe "{{ 1 }}"'],
    ["lookup('pipe', 'id')", `!unsafe "lookup('pipe', 'id')"`],
    ['1 if x else 2', '!unsafe "1 if x else 2"'],
    ['0012', '"0012"'],
    ['2026-01-01T10:00:00Z', '"2026-01-01T10:00:00Z"'],
    ['yes\n', '"yes\\n"'],
    ['', '""'],
  ])('of the user mark the text %j of others', (text, written) => {
    expect(varsWith({ mine: text }, ['/vars/mine'])).toBe(`{? "mine" : ${written}}`);
  });
});

describe('the login', () => {
  test('uses only the pinned host key, and stores secrets only in its own files', () => {
    const files = loginFiles({ ...address, key: 'KEY' }, '/tmp/heddle-x');
    expect(files['known_hosts']).toBe('[127.0.0.9]:2222 ssh-ed25519 AAAA\n');
    expect(files['key']).toBe('KEY\n');
    expect(files['ssh_config']).toMatch(/StrictHostKeyChecking yes/);
    expect(files['ssh_config']).not.toMatch(/KEY\b|PASSWORD/);
  });

  test("uses the jump host's own key and password", () => {
    const jump = {
      host: '192.0.2.1',
      port: 22,
      user: 'hop',
      password: 'PASSWORD-OF-JUMP',
      hostKey: ['ssh-ed25519 BBBB', 'ssh-rsa CCCC'],
    };
    const files = loginFiles({ ...address, jump }, '/tmp/heddle-x');
    expect(files['jump_known_hosts']).toBe('192.0.2.1 ssh-ed25519 BBBB\n192.0.2.1 ssh-rsa CCCC\n');
    expect(files['ssh_config']).toMatch(
      /ProxyCommand env SSH_ASKPASS=\/tmp\/heddle-x\/jump_askpass .* ssh -F \/tmp\/heddle-x\/ssh_config -W \[%h\]:%p heddle-jump 2>> \/tmp\/heddle-x\/jump_said/,
    );
    expect(files['jump_password']).toBe('PASSWORD-OF-JUMP\n');
    expect([files['ssh_config'], files['jump_askpass']].join('')).not.toContain('PASSWORD-OF');
  });
});

describe('the files of the login', () => {
  const hop = { host: '192.0.2.1', port: 22, user: 'hop', hostKey: 'ssh-ed25519 BBBB' };
  const trap = 'root\n  ProxyCommand touch trapped';

  test.each<readonly [string, Partial<NodeAddress>]>([
    ['a user with a line of its own', { user: trap }],
    ['a user in quotes', { user: 'a" -o "ProxyCommand=x' }],
    ['a user that is an option', { user: '-oX' }],
    ['a user with a token of OpenSSH', { user: '%h' }],
    ['a host with a line of its own', { host: `h\n${trap}` }],
    ['a host with a shell character', { host: 'h;id' }],
    ['a host that is an option', { host: '-oX' }],
    ['an agent with a line of its own', { agent: `/a\n${trap}` }],
    ['an agent with a quote', { agent: '/a" x' }],
    ['a port that is none', { port: '22\n  ProxyCommand x' as unknown as number }],
    ['a jump host with a user of more lines', { jump: { ...hop, user: trap } }],
    ['a jump host with a host of more lines', { jump: { ...hop, host: trap } }],
  ])('are not written for %s', (_what, more) => {
    expect(() => loginFiles({ ...address, ...more }, '/tmp/heddle-x')).toThrow(
      /automator ansible: .*(contains|begins|is no)/,
    );
  });
});

test.each([
  [{}, 'playbook or path or role must be set'],
  [{ playbook: '[]', role: 'web' }, 'playbook and role'],
  [{ path: '../site.yml' }, 'path'],
  [{ path: '/etc/site.yml' }, 'path'],
  [{ role: '../web' }, 'role'],
  [{ playbook: '[]', vars: { 'a-b': 1 } }, 'vars.a-b'],
  [{ playbook: '[]', vars: { heddle: {} } }, 'vars.heddle'],
  [{ playbook: '[]', tags: ['a,b'] }, 'tags[0]'],
  [{ playbook: '[]', skipTags: ['-x'] }, 'skipTags[0]'],
])('refuses fields %j', (written, named) => {
  expect(() => readFields(written)).toThrow(named);
});

test.each([
  [{}],
  [{ program: 'ansible-playbook' }],
  [{ program: '/usr/bin/ansible-playbook', folder: 'roles' }],
])('names the setup page if the worker has only %j', (written) => {
  expect(() => readSettings(written)).toThrow('automators.ansible.fields.');
});

const quiet: PluginLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

test('events are printed as they come, and report the end of the play', async () => {
  const printed: string[] = [];
  const reader = new PlayReader(quiet, async (text) => void printed.push(text));
  const events = [
    { event: 'play', name: 'site' },
    { event: 'ok', task: 'one', changed: true, stdout: 'hello' },
    { event: 'skipped', task: 'two' },
    { event: 'failed', task: 'three', msg: 'not yet', ignored: true, rc: 1 },
    { event: 'failed', task: 'four', msg: 'no such\npackage', rc: 3 },
    { event: 'stats', custom: { port: 1 } },
  ];
  for (const event of events) reader.read(JSON.stringify(event));
  for (const noise of ['no JSON', '[1]', '{"event": 7}', '{"event": "unknown"}']) reader.read(noise);
  await reader.end();
  expect(printed).toEqual([
    'PLAY [site]\n',
    'TASK [one] changed\nhello\n',
    'TASK [two] skipped\n',
    'TASK [three] failed: not yet (ignored)\n',
    'TASK [four] failed: no such\npackage\n',
  ]);
  expect(reader.story()).toMatchObject({
    tasks: 3,
    played: true,
    failed: { task: 'four', rc: 3 },
    custom: { port: 1 },
    transcript: expect.stringContaining('TASK [one] changed\nhello\n'),
  });
});
