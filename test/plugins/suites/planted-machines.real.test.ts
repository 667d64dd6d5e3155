import { describe, expect, test } from 'vitest';
import { providerFailure, type Change } from '../../harness/suites/planted.js';

// Providers with methods for existing machines and one fault each, which the suite must detect.

/** Methods for existing machines, and for notifications. */
const machines: Change = [
  '  async #machines(query: string[][])',
  `  async nodeReused() {}
  async nodeDeleted() {}
  async #machine({ providerid, key }) {
    const id = providerid ?? (await this.#machines([['key', key]]))[0]?.providerid ?? '-';
    const { status, body } = await this.#api().call('GET', \`/v1/machines/\${id}?\${new URLSearchParams({ key })}\`);
    return status < 300 && textIn(body, 'state') !== 'deleting' ? body : undefined;
  }
  async powerStatus(input) {
    const machine = await this.#machine(input);
    if (machine === undefined) return { power: 'unknown', why: 'no such machine' };
    return { power: textIn(machine, 'state') === 'stopped' ? 'off' : 'on' };
  }
  async powerOn(input) { return this.#bring(input, 'on', 'running'); }
  async powerOff(input) { return this.#bring(input, 'off', 'stopped'); }
  async unload(input) {
    const before = await this.powerStatus(input);
    const off = await this.#bring(input, 'off', 'stopped');
    if (off.answer !== 'done') return off;
    await this.#wipe(input);
    return before.power === 'on' ? this.#bring(input, 'on', 'running') : off;
  }
  async #wipe({ providerid }) {
    const path = \`/v1/machines/\${providerid}\`;
    await this.#api().call('POST', \`\${path}/load\`, { image: 'host', token: \`unload-\${Date.now()}\` });
    for (let job; job?.state !== 'done'; job = (await this.#api().call('GET', \`\${path}/job\`)).body.job) await wait();
  }
  async #bring(input, power, wanted) {
    const isThere = (machine) => machine === undefined || textIn(machine, 'state') === wanted;
    let machine = await this.#machine(input);
    if (!isThere(machine)) await this.#api().call('POST', \`/v1/machines/\${textIn(machine, 'id')}/power\`, { power });
    while (!isThere(machine)) { await wait(); machine = await this.#machine(input); }
    return machine === undefined ? { answer: 'not done', why: 'no such machine' } : { answer: 'done' };
  }

  async #machines(query: string[][])`,
];
const wait: Change = [
  'const pathOf = (id: string)',
  'const wait = () => new Promise((resolve) => setTimeout(resolve, 100));\n\nconst pathOf = (id: string)',
];
/** Lists machines of a state in another one. */
const shown = (state: string, as: string): Change => [
  'return found.map(machineOf);',
  `return found.map(machineOf).map((one) => ({ ...one, state: one.state === ${state} ? ${as} : one.state }));`,
];
const anyKey: Change = ['?${new URLSearchParams({ key })}', ''];

const cases = [
  'machines',
  'notified',
  'power',
  'power-state',
  'power-silent',
  'power-absent',
  'power-other-key',
  'power-lost',
  'unload',
  'unload-content',
  'unload-other-key',
];

describe('the suite of providers with methods for existing machines', () => {
  const failure = (
    id: string | readonly string[],
    changes: readonly Change[] = [],
  ): Promise<string | undefined> => {
    return providerFailure([machines, wait, ...changes], id, { machines: ['power', 'unload'] });
  };

  test.concurrent('passes one without a fault', async () => {
    expect(await failure(cases)).toBeUndefined();
  });

  test.concurrent('detects one whose methods are not tested', async () => {
    expect(await providerFailure([machines, wait], 'machines')).toContain(
      'the options of its suite need machines',
    );
  });

  test.concurrent.each<readonly [string, string, readonly Change[], string]>([
    [
      'that fails for a repeated notification',
      'notified',
      [
        [
          'async nodeDeleted() {}',
          "async nodeDeleted({ token }) { (await import('node:fs')).mkdirSync(new URL('deleted', import.meta.url)); }",
        ],
      ],
      'EEXIST',
    ],
    [
      'that deletes a machine which is reused',
      'notified',
      [
        [
          'async nodeReused() {}',
          "async nodeReused({ providerid }) { await this.#api().call('DELETE', `/v1/machines/${providerid}`); }",
        ],
      ],
      'Replace the node',
    ],
    [
      'that lists a machine which is off as running',
      'power-state',
      [shown("'stopped'", "'running'")],
      'the machine is stopped, and find shows another state',
    ],
    [
      'that lists a machine which is on as stopped',
      'power-state',
      [shown("'running'", "'stopped'")],
      'the machine is running, and find shows another state',
    ],
    [
      'that reports a command which it did not send',
      'power',
      [["return this.#bring(input, 'off', 'stopped');", "return { answer: 'done' };"]],
      'the machine is off, and the provider reports on',
    ],
    [
      'that takes silence for off',
      'power-silent',
      [
        [
          'const machine = await this.#machine(input);\n    if (machine === undefined) return { power',
          "const machine = await this.#machine(input).catch(() => ({ state: 'stopped' }));\n    if (machine === undefined) return { power",
        ],
      ],
      'the power without a response',
    ],
    [
      'that takes an absent machine for one that is off',
      'power-absent',
      [["{ power: 'unknown', why", "{ power: 'off', why"]],
      'the power of an absent machine',
    ],
    [
      "that switches another key's machine",
      'power-other-key',
      [anyKey],
      "the power of another key's machine",
    ],
    [
      'that takes a lost answer for a refusal',
      'power-lost',
      [
        [
          "return this.#bring(input, 'off', 'stopped');",
          "return this.#bring(input, 'off', 'stopped').catch(() => ({ answer: 'not done', why: 'no answer' }));",
        ],
      ],
      'powerOff whose response was lost',
    ],
    [
      'that leaves an unloaded machine off',
      'unload',
      [["before.power === 'on' ?", "before.power === 'never' ?"]],
      'the machine is on, and the provider reports off',
    ],
    [
      'that switches an unloaded machine on',
      'unload',
      [["before.power === 'on' ?", "before.power !== 'never' ?"]],
      'the machine is off, and the provider reports on',
    ],
    [
      'that leaves the files of a user',
      'unload-content',
      [['await this.#wipe(input);', '']],
      'a file of its user is still on the machine',
    ],
    ["that unloads another key's machine", 'unload-other-key', [anyKey], "unload of another key's machine"],
  ])('detects one %s', async (_what, id, changes, message) => {
    expect(await failure(id, changes)).toContain(message);
  });
});
