import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Stack, startStack } from '../../../harness/stack.js';
import { until } from '../../../harness/until.js';
import { closed, nodes } from '../../../harness/workflows/spec.js';
import { ansibleIsMissing, ansibleProgram } from './support/program.js';

const missing = ansibleIsMissing();
if (missing !== undefined) console.info(`left out clusters by ansible: ${missing}`);

/** Tells the test by a file on the worker where it is, and waits there once. */
const installing = `
- ansible.builtin.copy: {dest: /etc/greeting, content: "hello from {{ heddle.node }} of {{ groups.service_web | length }}\\n", mode: "0644"}
- name: tells where Ansible is at home
  ansible.builtin.shell: echo "$HOME {{ heddle.node }}" >> "{{ ledger }}"
  delegate_to: localhost
  vars: {ansible_connection: local, ansible_become: false}
- ansible.builtin.wait_for: {path: /etc/go, timeout: 120}
  when: heddle.attempt | int == 1 and heddle.node == 'web-1'
- ansible.builtin.set_stats: {data: {greeting_path: /etc/greeting}}
`;

/** Root on the node removes every trace of the play there while it is played. */
const hiding = `
- ansible.builtin.shell: |
    for id in ~/.heddle/runs/*/id; do
      case $(cat "$id") in *.begin) rm -rf "\${id%/id}" ;; esac
    done
    rm -rf ~/.heddle/ansible
- ansible.builtin.shell: echo "hidden {{ heddle.node }}" >> "{{ ledger }}"
  delegate_to: localhost
  vars: {ansible_connection: local, ansible_become: false}
- ansible.builtin.wait_for: {path: /etc/never, timeout: 600}
`;

describe.skipIf(missing !== undefined)('a cluster with ansible', () => {
  let stack: Stack;
  let ledger: string;
  const config: Record<string, object> = {};
  beforeAll(async () => {
    stack = await startStack({ kind: 'auto', config });
    const folder = join(stack.folder, 'ansible');
    ledger = join(stack.folder, 'ledger');
    const tasks = {
      install: installing,
      hide: hiding,
      start: '- ansible.builtin.command: cat /etc/greeting\n',
      remove: '- ansible.builtin.file: {path: /etc/greeting, state: absent}\n',
    };
    for (const [name, text] of Object.entries(tasks)) {
      const file = join(folder, 'roles/web/tasks', `${name}.yml`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    config['automators'] = { ansible: { fields: { program: ansibleProgram, folder } } };
  });

  const spec = (more: object = {}) =>
    closed({
      name: 'site',
      nodes: { web: nodes(2, ['web']) },
      services: {
        web: {
          actions: Object.fromEntries(
            ['install', 'start', 'remove'].map((tasksFrom) => [
              tasksFrom,
              { type: 'ansible', fields: { role: 'web', tasksFrom, vars: { ledger }, ...more } },
            ]),
          ),
        },
      },
    });

  test('continues when a worker is killed during a play, whose login is removed', async () => {
    const first = await stack.startWorker('first');
    const { operation } = await stack.client.apply(spec());
    const homes = await until(
      'the play of web-1 to begin',
      () => {
        const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [];
        return lines.some((line) => line.endsWith(' web-1')) ? lines : undefined;
      },
      120_000,
    );
    const home = homes.find((line) => line.endsWith(' web-1'))?.split(' ')[0] ?? '';
    expect(readFileSync(join(home, 'inventory.yml'), 'utf8')).toContain('ansible_password');
    await first.kill();
    await until('the folder with the login to go', () => !existsSync(home));
    const second = await stack.startWorker('second');
    const { status, operation: ended } = await stack.client.waitFor('site', operation);
    expect([ended.state, ...status.nodes.flatMap(({ failure }) => failure?.message ?? [])]).toEqual(['done']);
    for (const { running, payload } of status.nodes)
      expect([running, payload['greeting_path']]).toEqual([['web'], '/etc/greeting']);
    const plays = readFileSync(ledger, 'utf8')
      .trim()
      .split('\n')
      .filter((line) => line.endsWith(' web-1'));
    expect(plays.length).toBe(2);
    const deletion = await stack.client.delete('site');
    expect((await stack.client.waitFor('site', deletion.operation ?? '')).operation.state).toBe('done');
    await second.kill();
  });

  test('is held after its worker was killed during a play whose traces the node removed', async () => {
    const plays = (): number =>
      (existsSync(ledger) ? readFileSync(ledger, 'utf8') : '').match(/^hidden /gm)?.length ?? 0;
    const worker = await stack.startWorker('third');
    const fields = { role: 'web', tasksFrom: 'hide', interrupted: 'hold', vars: { ledger } };
    const services = { web: { actions: { install: { type: 'ansible', fields } } } };
    await stack.client.apply(closed({ name: 'once', nodes: { web: nodes(1, ['web']) }, services }));
    await until('the play to begin', () => plays() === 1, 300_000);
    await worker.kill();
    await stack.startWorker('fourth');
    const failure = await until(
      'the operation to be held',
      async () => {
        const [node] = (await stack.client.status('once')).nodes;
        return node?.failure;
      },
      300_000,
    );
    const why = expect.stringContaining('its progress is unknown');
    expect([failure.kind, failure.message, plays()]).toEqual(['UnknownOutcome', why, 1]);
  });
});
