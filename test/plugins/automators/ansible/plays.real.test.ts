import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeHostKey, startNode, type TestNode } from '../../../harness/ssh-server.js';
import { type Sshd, sshdIsMissing, startSshd } from '../../../harness/sshd.js';
import { until } from '../../../harness/until.js';
import { Player, webTask, type Playing } from './support/player.js';
import { ansibleIsMissing } from './support/program.js';
import { newFolder } from '../../../harness/folder.js';

const missing = ansibleIsMissing() ?? sshdIsMissing();
if (missing !== undefined) console.info(`left out what is played by a real ansible-core: ${missing}`);

describe.skipIf(missing !== undefined)('a real ansible-core', () => {
  let node: TestNode;
  let player: Player;
  let admin: string;
  let count = 0;
  beforeAll(async () => {
    node = await startNode();
    player = new Player(node.target, webTask);
    admin = newFolder();
    const files = {
      'site.yml': '- hosts: group_app\n  gather_facts: false\n  roles: [web]\n',
      'roles/web/tasks/main.yml':
        '- ansible.builtin.copy: {dest: "{{ home }}/main", content: "{{ port }} {{ peers }}"}\n',
      'roles/web/tasks/stop.yml': '- ansible.builtin.file: {path: "{{ home }}/main", state: absent}\n',
      'roles/web/vars/main.yml':
        "peers: \"{{ groups.service_web | map('extract', hostvars, 'ansible_host') | join(',') }}\"\n",
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(admin, name)), { recursive: true });
      writeFileSync(join(admin, name), text);
    }
  });
  afterAll(async () => {
    await player.pool.closeAll();
    await node.close();
  });

  /** Each is another task. */
  const play = (playing: Playing, by = player) => {
    count += 1;
    return by.play({ more: { taskId: `3f0c/app-2#1/web/INSTALL/op-${count}` }, ...playing });
  };
  const shell = (text: string): string =>
    JSON.stringify([{ hosts: 'all', gather_facts: false, tasks: [{ 'ansible.builtin.shell': text }] }]);
  const read = (name: string): string => readFileSync(join(node.home, name), 'utf8');

  test("plays a playbook of the administrator's folder with its roles, and another task file of a role", async () => {
    await play({
      fields: { path: 'site.yml', vars: { port: 8080, home: node.home } },
      admin: { folder: admin },
    });
    expect(read('main')).toBe('8080 127.0.0.8,127.0.0.1');
    expect(player.printed).toContain('TASK [web : ansible.builtin.copy] changed\n');
    await play({
      fields: { role: 'web', tasksFrom: 'stop', vars: { home: node.home } },
      admin: { folder: admin },
    });
    expect(existsSync(join(node.home, 'main'))).toBe(false);
  });

  test('has each line of a play once in the log, and prints it while the play goes on', async () => {
    const [said, printed] = [player.said.length, player.printed.length];
    const { stdout = '' } = await play({
      fields: { playbook: shell('echo said once; echo heard once >&2') },
    });
    const lines = [...player.said.slice(said), ...player.printed.slice(printed), stdout]
      .join('\n')
      .split('\n');
    const count = (line: string): number => lines.filter((found) => found === line).length;
    expect(
      ['PLAY [all]', 'TASK [ansible.builtin.shell] changed', 'said once', 'heard once'].map(count),
    ).toEqual([1, 1, 1, 1]);
    expect(stdout).toBe('');
  });

  test('evaluates no template in data of nodes, and returns what set_stats sets', async () => {
    const trap = '{{ lookup("pipe", "echo TRAPPED") }}';
    const playbook =
      '[{hosts: all, gather_facts: false, tasks: [{ansible.builtin.set_stats: {data: {seen: "{{ heddle.payload.motd }}", user: "{{ mine }}"}}}]}]';
    const { result } = await play({
      fields: { playbook, vars: { mine: '{{ heddle.node }}' } },
      more: { taskId: 'trap', config: { ...webTask.config, motd: trap } },
    });
    expect(result).toEqual({ seen: trap, user: 'app-2' });
  });

  test('has no secret in process arguments, and leaves no file behind', async () => {
    const seen = join(node.home, 'arguments');
    // The node is this computer, so that a task sees what runs beside it.
    const playbook = shell(
      `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' > ${seen}; ls ${tmpdir()} > ${seen}.files; echo "{{ token }}" > /dev/null`,
    );
    await play({ fields: { playbook, vars: { token: 'never' } }, data: 'DATA-CANARY', admin: {} });
    const text = readFileSync(seen, 'latin1');
    expect(text).toContain('ansible-playbook');
    expect(text).not.toContain('DATA-CANARY');
    if (node.target.password !== undefined) expect(text).not.toContain(node.target.password);
    // Other tests play at the same time, in folders of their own.
    const isOwn = (name: string): boolean => {
      try {
        return readFileSync(join(tmpdir(), name, 'play.yml'), 'utf8').includes(seen);
      } catch {
        return false;
      }
    };
    expect(readFileSync(`${seen}.files`, 'utf8')).toMatch(/^heddle-/m);
    const left = readdirSync(tmpdir()).filter(isOwn);
    expect(left).toEqual([]);
  });

  test.each([
    ['no play for the node', '[{hosts: group_db, tasks: []}]', 'no play of the playbook matches this node'],
    ['no YAML', '- hosts: [', 'cannot be run'],
    [
      'an unknown module',
      '[{hosts: all, gather_facts: false, tasks: [{no_such_module: {}}]}]',
      'no_such_module',
    ],
  ])('refuses a playbook with %s', async (_name, playbook, words) => {
    await expect(play({ fields: { playbook } })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining(words),
    });
  });

  test('names missing programs of the worker', async () => {
    await expect(
      play({ fields: { playbook: '[]' }, admin: { program: '/nowhere/ansible-playbook' } }),
    ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('install ansible-core') });
    await expect(play({ fields: { path: 'none.yml' }, admin: { folder: admin } })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('none.yml'),
    });
  });

  test('ends a play on the node at its time limit', async () => {
    const failure = play({ fields: { playbook: shell('echo $$ > ~/pid; sleep 600') }, timeoutMs: 8_000 });
    await expect(failure).rejects.toMatchObject({
      kind: 'ScriptFailed',
      message: expect.stringContaining('ran longer than 8 s'),
    });
    // On a busy computer it may not have begun.
    await until(
      'the module to end',
      () => !existsSync(join(node.home, 'pid')) || !existsSync(`/proc/${read('pid').trim()}`),
    );
  });

  test('repeats an interrupted play from its start, after ending what was left of it', async () => {
    const end = new AbortController();
    const fields = { playbook: shell('echo $$ >> ~/runs; [ -e ~/go ] || sleep 600') };
    const task = { taskId: 'cut-off' };
    const first = play({ fields, more: task, detach: end.signal });
    await until('the module to begin', () => existsSync(join(node.home, 'runs')));
    end.abort(new Error('the worker ends'));
    await expect(first).rejects.toMatchObject({ kind: 'Retryable' });
    writeFileSync(join(node.home, 'go'), '');
    await play({ fields, more: { ...task, attempt: 2 } });
    const [one = '', two, ...more] = read('runs').trim().split('\n');
    expect([two === undefined, more]).toEqual([false, []]);
    expect(existsSync(`/proc/${one}`)).toBe(false);
  });

  test('holds an interrupted play if the user says so', async () => {
    const end = new AbortController();
    const fields = { playbook: shell('echo x >> ~/held; sleep 600'), interrupted: 'hold' };
    const first = play({ fields, more: { taskId: 'held' }, detach: end.signal });
    await until('the module to begin', () => existsSync(join(node.home, 'held')));
    end.abort(new Error('the worker ends'));
    await expect(first).rejects.toMatchObject({ kind: 'Retryable' });
    await expect(play({ fields, more: { taskId: 'held', attempt: 2 } })).rejects.toMatchObject({
      kind: 'UnknownOutcome',
    });
    expect(read('held')).toBe('x\n');
  });

  describe('through a jump host', () => {
    let bastion: Sshd;
    const others: Player[] = [];
    beforeAll(async () => {
      bastion = await startSshd();
    });
    afterAll(async () => {
      for (const { pool } of others) await pool.closeAll();
      await bastion.close();
    });

    test('logs in there with a key and here with a password', async () => {
      const jump = { ...bastion.target, hostKey: bastion.target.hostKey ?? '' };
      const through = new Player({ ...node.target, jump }, webTask);
      others.push(through);
      await play({ fields: { playbook: shell('echo "$SSH_CONNECTION" > ~/through') } }, through);
      expect(existsSync(join(node.home, 'through'))).toBe(true);
    });

    test('refuses a jump host with another host key', async () => {
      const jump = { ...bastion.target, hostKey: makeHostKey().line };
      const stranger = new Player(node.target, webTask);
      others.push(stranger);
      const refused = stranger.play({
        fields: { playbook: shell('touch ~/refused') },
        more: { taskId: 'other-jump' },
        as: { ...node.target, jump },
      });
      await expect(refused).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('host key'),
      });
      expect(existsSync(join(node.home, 'refused'))).toBe(false);
    });

    test('refuses a node with another host key before anything is sent', async () => {
      const stranger = new Player(node.target, webTask);
      others.push(stranger);
      const refused = stranger.play({
        fields: { playbook: shell('touch ~/refused') },
        more: { taskId: 'refused' },
        as: { ...node.target, hostKey: makeHostKey().line },
      });
      await expect(refused).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('host key'),
      });
      expect(existsSync(join(node.home, 'refused'))).toBe(false);
    });
  });
});
