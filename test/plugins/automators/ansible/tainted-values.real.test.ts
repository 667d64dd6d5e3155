import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fillFields } from '../../../../src/activities/automator/fill-fields.js';
import type { JsonObject } from '../../../../src/model/json.js';
import type { Task } from '../../../../src/plugins/contract.js';
import { loadRegistry, type Registry } from '../../../../src/plugins/registry.js';
import { request } from '../../../harness/activities/parts.js';
import { attacksOn, expression, origins, type Origin } from '../../../harness/attacks.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { Player, webTask } from './support/player.js';
import { ansibleIsMissing } from './support/program.js';
import { newFolder } from '../../../harness/folder.js';

const missing = ansibleIsMissing();
if (missing !== undefined) console.info(`left out what values of nodes can do to a play: ${missing}`);

describe.skipIf(missing !== undefined)('a value that no author wrote', () => {
  const folder = newFolder();
  const witness = join(folder, 'witness');
  const attacks = attacksOn(witness);
  const values = Object.fromEntries(attacks.map((attack, index) => [`attack${index}`, attack]));
  let node: TestNode;
  let player: Player;
  let registry: Registry;
  let count = 0;
  beforeAll(async () => {
    node = await startNode();
    player = new Player(node.target, webTask);
    registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  });
  afterAll(async () => {
    await player.pool.closeAll();
    await node.close();
    await registry.close();
  });
  afterEach(() => rmSync(witness, { force: true }));

  const peers = Object.fromEntries(
    attacks.map((attack, index) => [
      `app-${index + 2}`,
      { hostname: attack, ipaddress: attack, services: ['web'], nodenum: index + 2, group: 'app' },
    ]),
  );

  /** Uses each variable in the ways in which playbooks do, and the texts of the task as well. */
  const playbook = JSON.stringify([
    {
      hosts: 'all',
      gather_facts: false,
      tasks: [
        { 'ansible.builtin.debug': { msg: '{{ mine }}' } },
        {
          'ansible.builtin.set_fact': { again: '{{ item.key }}{{ item.value }}' },
          loop: '{{ mine | dict2items }}',
        },
        { 'ansible.builtin.debug': { msg: '{{ again }}' } },
        { 'ansible.builtin.shell': 'echo {{ mine | to_json | quote }}' },
        { 'ansible.builtin.debug': { msg: '{{ heddle.payload }} {{ heddle.data }}' } },
        {
          'ansible.builtin.debug': { msg: '{{ item.key }} {{ item.value }}' },
          loop: '{{ heddle.payload | dict2items }}',
        },
        {
          'ansible.builtin.debug': {
            msg: '{{ hostvars[item].heddle_hostname }} {{ hostvars[item].ansible_host }}',
          },
          loop: "{{ groups['all'] }}",
        },
      ],
    },
  ]);

  async function play(vars: JsonObject, literal: readonly string[], data = ''): Promise<void> {
    count += 1;
    const fields = { playbook, vars };
    await player.play({
      fields,
      literal,
      data,
      more: {
        taskId: `3f0c/app-1#1/web/INSTALL/taint-${count}`,
        nodeId: 'app-1',
        nodes: { ...peers, 'app-1': { hostname: 'a', services: ['web'], nodenum: 1, group: 'app' } },
        config: {
          ...webTask.config,
          ...values,
          nested: Object.fromEntries(attacks.map((a) => [a, a])),
          [attacks[7] ?? '']: 1,
        },
      },
    });
  }

  async function filled(fields: JsonObject): ReturnType<typeof fillFields> {
    const task: Task = {
      ...webTask,
      config: { ...webTask.config, ...values, map: Object.fromEntries(attacks.map((a) => [a, a])) },
      nodes: peers,
    };
    return fillFields(
      { resolveSecrets: async (value) => ({ value, secrets: [] }) as never },
      {
        task,
        attempt: { hide: () => undefined },
        descriptor: registry.automator('ansible').descriptor,
        request: request(
          {},
          {
            variables: Object.fromEntries(
              Object.entries(values).map(([name, value]) => [name, { value, imported: true }]),
            ),
          },
        ),
      },
      fields,
    );
  }

  const written = (origin: Origin): JsonObject => ({
    ...Object.fromEntries(
      attacks.map((_, index) => [`a${index}`, `x ${expression(origins[origin](index))}`]),
    ),
    list: attacks.map((_, index) => expression(origins[origin](index))),
  });

  // Promise: plays-evaluate-no-values
  test.each(Object.keys(origins) as readonly Origin[])(
    'from %s is not a template in a play',
    async (origin) => {
      const data = expression(origins[origin](7));
      const { fields, literal } = await filled({ vars: { mine: written(origin) }, data });
      const { vars } = fields as { vars: JsonObject };
      await play(vars, literal, fields['data'] as string);
      expect(existsSync(witness)).toBe(false);
      expect(player.printed.join('')).toContain('touch');
    },
  );

  test('from a mapping is not a template in a key either', async () => {
    const { fields, literal } = await filled({ vars: { mine: expression('node.map') } });
    await play((fields as { vars: JsonObject }).vars, literal);
    expect(existsSync(witness)).toBe(false);
  });

  // What YAML 1.1 reads as something else than a text if it is not quoted.
  test('stays the text that it is', async () => {
    const texts = [
      ...[
        '0012345',
        '12:30:45',
        '1.10',
        '+1.5',
        '.5',
        '-.inf',
        '.NaN',
        '1e3',
        '1.0e+3',
        '0x1F',
        '0b1',
        '1_000',
      ],
      ...[
        'yes',
        'Off',
        'true',
        'null',
        '~',
        '',
        '=',
        '<<',
        '2026-01-01',
        '2026-01-01 10:00:00 +1',
        '12\n',
        'no\n',
      ],
      ...[
        'a: b',
        '- a',
        '!unsafe a',
        '&a',
        '*a',
        '# a',
        '{',
        '[',
        '|',
        '%a',
        '@a',
        '`a`',
        '? a',
        '1 + 1',
        'e3',
        '-',
      ],
    ];
    const seen =
      '{{ {"vars": mine, "list": own.list, "data": heddle.data, "payload": heddle.payload.texts, "keys": own.map | list} | to_json }}';
    const playbook = JSON.stringify([
      {
        hosts: 'all',
        gather_facts: false,
        tasks: [{ 'ansible.builtin.set_stats': { data: { seen: `json:${seen}` } } }],
      },
    ]);
    const mine = Object.fromEntries(texts.map((text, index) => [`t${index}`, text]));
    const map = Object.fromEntries(texts.map((text) => [text, 1]));
    for (const [index, text] of texts.entries()) {
      if (index % 8 !== 0) continue;
      const { result } = await player.play({
        fields: { playbook, vars: { mine, own: { list: texts, map } } },
        literal: [...texts.keys()]
          .map((one) => `/vars/mine/t${one}`)
          .concat('/vars/own/list', '/vars/own/map'),
        data: text,
        more: { taskId: `3f0c/app-2#1/web/INSTALL/typed-${index}`, config: { ...webTask.config, texts } },
      });
      const { seen: json } = result as { seen: string };
      expect(JSON.parse(json.slice('json:'.length))).toEqual({
        vars: mine,
        list: texts,
        data: text,
        payload: texts,
        keys: texts,
      });
    }
  });

  test('is a template without the mark, in a value and in a key', async () => {
    const [, , , , , , , lookup = ''] = attacks;
    await play({ mine: { a: lookup } }, []);
    expect(existsSync(witness)).toBe(true);
    rmSync(witness);
    await play({ mine: { [lookup]: 'a' } }, []);
    expect(existsSync(witness)).toBe(true);
  });

  test("is not, while the author's templates are evaluated beside it", async () => {
    const { fields, literal } = await filled({
      vars: { mine: { a: '{{ 6 * 7 }} ok', b: expression('node.attack7') } },
    });
    await play((fields as { vars: JsonObject }).vars, literal);
    expect(player.printed.join('')).toContain('42 ok');
    expect(existsSync(witness)).toBe(false);
  });
});
