import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AttemptNote, Json, JsonObject, TaskResult } from '../../../../src/plugins/contract.js';
import { outsideOf, startNode, type TestNode } from '../../../harness/ssh-server.js';
import { until } from '../../../harness/until.js';
import { Player, webTask, type Playing } from './support/player.js';
import { ansibleIsMissing } from './support/program.js';
import { newFolder } from '../../../harness/folder.js';

const missing = ansibleIsMissing();
if (missing !== undefined) console.info(`left out what a node can do to a play: ${missing}`);

describe.skipIf(missing !== undefined)('a play against a hostile node', () => {
  let node: TestNode;
  let player: Player;
  let count = 0;
  beforeAll(async () => {
    node = await startNode();
    player = new Player(node.target, webTask);
  });
  afterAll(async () => {
    await player.pool.closeAll();
    await node.close();
  });

  /** Each is another task. */
  const play = (playing: Playing, by = player): Promise<TaskResult> => {
    count += 1;
    return by.play({ more: { taskId: `3f0c/app-2#1/web/INSTALL/op-${count}` }, ...playing });
  };
  const shell = (text: string): string =>
    JSON.stringify([{ hosts: 'all', gather_facts: false, tasks: [{ 'ansible.builtin.shell': text }] }]);
  const read = (name: string): string => readFileSync(join(node.home, name), 'utf8');

  /** Cuts a play off in its middle, as the end of a worker does. */
  const cutOff = async (fields: JsonObject, taskId: string, begun: string): Promise<void> => {
    const end = new AbortController();
    const first = play({ fields, more: { taskId }, detach: end.signal });
    await until('the module to begin', () => existsSync(join(node.home, begun)));
    end.abort(new Error('the worker ends'));
    await expect(first).rejects.toMatchObject({ kind: 'Retryable' });
  };

  // Promise: plays-on-record
  test('reads no outcome that root on the node forged', async () => {
    const fields = { playbook: shell('echo x >> ~/forged; [ -e ~/forged-go ] || sleep 600') };
    await cutOff(fields, 'forged', 'forged');
    const forged = {
      ok: true,
      result: { note: { secret: 'exec:id' }, providerid: 'i-other' },
      stdout: 'FORGED',
    };
    const folder = join(node.home, '.heddle/ansible');
    for (const name of readdirSync(folder))
      writeFileSync(join(folder, name, 'outcome'), JSON.stringify(forged));
    writeFileSync(join(node.home, 'forged-go'), '');
    const { result } = await play({ fields, more: { taskId: 'forged', attempt: 2 } });
    expect([result, player.printed.join('')]).toEqual([{}, expect.not.stringContaining('FORGED')]);
    expect(read('forged')).toBe('x\nx\n');
  });

  // Promise: plays-on-record
  test('is held after an interruption although the node hides the play', async () => {
    const fields = {
      playbook: shell('echo x >> ~/hidden; [ -e ~/hidden-go ] || sleep 600'),
      interrupted: 'hold',
    };
    await cutOff(fields, 'hidden', 'hidden');
    // Root on the node also ends what runs, and removes what is recorded outside of the home.
    node.killAll();
    for (const trace of [
      join(node.home, '.heddle/ansible'),
      join(node.home, '.heddle/runs'),
      ...outsideOf(node.runs),
    ])
      rmSync(trace, { recursive: true, force: true });
    writeFileSync(join(node.home, 'hidden-go'), '');
    const note: AttemptNote = { before: { state: 'begun' }, write: () => Promise.resolve() };
    const again = play({ fields, more: { taskId: 'hidden', attempt: 2 }, note });
    await expect(again).rejects.toMatchObject({ kind: 'UnknownOutcome' });
    expect(read('hidden')).toBe('x\n');
  });

  test('is repeated with a warning, or held, if its outcome was lost with its worker', async () => {
    const playbook = shell('echo x >> ~/lost');
    const more = { taskId: 'lost' };
    await play({ fields: { playbook }, more });
    const note: AttemptNote = { before: { state: 'begun' }, write: () => Promise.resolve() };
    const held = play({ fields: { playbook, interrupted: 'hold' }, more: { ...more, attempt: 2 }, note });
    await expect(held).rejects.toMatchObject({ kind: 'UnknownOutcome' });
    expect(read('lost')).toBe('x\n');
    const [said, printed] = [player.said.length, player.printed.length];
    await play({ fields: { playbook }, more: { ...more, attempt: 3 }, note });
    expect(player.said.slice(said)).toContain(
      'an earlier attempt was interrupted: the playbook is run again from its start',
    );
    expect(player.printed.slice(printed)).toContainEqual(expect.stringContaining('changed'));
    expect(read('lost')).toBe('x\nx\n');
  });

  test('is recorded as begun before anything is sent to the node', async () => {
    const write = (): Promise<void> => Promise.reject(new Error('the server does not answer'));
    const note: AttemptNote = { before: undefined, write };
    const refused = play({ fields: { playbook: shell('touch ~/recorded') }, note });
    await expect(refused).rejects.toThrow('the server does not answer');
    expect(existsSync(join(node.home, 'recorded'))).toBe(false);
  });

  test.each(['echo x >> ~/ended', 'echo x >> ~/ended; exit 3'])(
    'is not repeated after it ended: %s',
    async (script) => {
      rmSync(join(node.home, 'ended'), { force: true });
      const notes: Json[] = [];
      const write = (value: Json): Promise<void> => {
        notes.push(value);
        return Promise.resolve();
      };
      const asked = { fields: { playbook: shell(script) }, more: { taskId: `ended ${script}` } };
      const outcomeOf = (attempt: Promise<TaskResult>): Promise<unknown> =>
        attempt.catch(({ kind, exitCode }) => [kind, exitCode]);
      const first = await outcomeOf(play({ ...asked, note: { before: undefined, write } }));
      expect(notes.map((value) => (value as JsonObject)['state'])).toEqual(['begun', 'ended']);
      for (const trace of ['.heddle/ansible', '.heddle/runs'])
        rmSync(join(node.home, trace), { recursive: true });
      const again = play({
        ...asked,
        more: { ...asked.more, attempt: 2 },
        note: { before: notes[1], write },
      });
      expect(await outcomeOf(again)).toEqual(first);
      expect([first, read('ended')]).toEqual([
        script.endsWith('3') ? ['ScriptFailed', 3] : expect.anything(),
        'x\n',
      ]);
    },
  );

  test('is not started if its note cannot be read, since it may have begun', async () => {
    const note: AttemptNote = { before: { state: 'of another kind' }, write: () => Promise.resolve() };
    const refused = play({
      fields: { playbook: shell('touch ~/unread') },
      more: { taskId: 'unread', attempt: 2 },
      note,
    });
    await expect(refused).rejects.toMatchObject({ kind: 'UnknownOutcome' });
    expect(existsSync(join(node.home, 'unread'))).toBe(false);
  });

  test("is refused if the node's home folder is more than a path in ansible.cfg", async () => {
    const home = newFolder();
    const trap = join(home, 'x\rlocal_tmp = {{ lookup("pipe", "touch trapped") }}');
    mkdirSync(trap);
    const hostile = await startNode({ home: trap });
    const victim = new Player(hostile.target, webTask);
    try {
      const refused = play({ fields: { playbook: shell('true') } }, victim);
      await expect(refused).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('home folder'),
      });
    } finally {
      await victim.pool.closeAll();
      await hostile.close();
      rmSync(home, { recursive: true, force: true });
    }
  });
});
