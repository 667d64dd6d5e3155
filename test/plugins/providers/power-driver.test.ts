import { expect, it } from 'vitest';
import {
  PowerDriver,
  type PowerControls,
  type CommandResult,
} from '../../../src/plugins/bare-metal/index.js';

const limits = { settleMs: 20, shutDownMs: 0, everyMs: 1, readings: 1 };
const refused: CommandResult = { accepted: false, why: 'busy' };

/** A controller that stays off, and answers commands with these in turn. */
function controls(...answers: readonly CommandResult[]): PowerControls {
  const left = [...answers];
  return {
    read: () => Promise.resolve({ power: 'off' }),
    on: () => Promise.resolve(left.shift() ?? refused),
    off: () => Promise.resolve({ accepted: true }),
  };
}

it.each<readonly [what: string, answers: readonly CommandResult[], answer: string]>([
  ['refuses both times has done nothing', [refused, refused], 'not done'],
  [
    'took the command, and then refuses: what it took may still come',
    [{ accepted: true }, refused],
    'unknown',
  ],
  ['refuses, and then takes it without anything to be read', [refused, { accepted: true }], 'unknown'],
  ['takes it twice, without anything to be read', [{ accepted: true }, { accepted: true }], 'unknown'],
])('a controller that %s', async (_what, answers, answer) => {
  expect(
    await new PowerDriver(controls(...answers), limits, new AbortController().signal).on(),
  ).toMatchObject({ answer });
});

type Reading = 'on' | 'off' | 'unknown';

it.each<readonly [readings: readonly Reading[], power: string]>([
  [['off', 'off'], 'off'],
  [['unknown', 'off', 'off'], 'off'],
  [['off', 'unknown', 'off', 'off'], 'off'],
  [['on', 'off', 'off'], 'off'],
  [['off', 'unknown'], 'unknown'],
  [['unknown'], 'unknown'],
  [['off', 'on'], 'unknown'],
  [['on', 'off'], 'unknown'],
])(
  'a controller that reads %j is %s, and no command is sent for what is unknown',
  async (readings, power) => {
    const driverOf = (commands: string[]): PowerDriver => {
      let count = 0;
      const note = (word: string): Promise<CommandResult> => {
        commands.push(word);
        return Promise.resolve({ accepted: true });
      };
      return new PowerDriver(
        {
          read: () => Promise.resolve({ power: readings[count++ % readings.length] ?? 'off' }),
          on: () => note('on'),
          off: () => note('off'),
        },
        { ...limits, readings: 2 },
        new AbortController().signal,
      );
    };
    expect((await driverOf([]).status()).power).toBe(power);
    const commands: string[] = [];
    expect((await driverOf(commands).off()).answer).toBe(power === 'off' ? 'done' : 'unknown');
    expect(commands).toEqual([]);
  },
);

const busy: CommandResult = { accepted: true, why: 'Node busy' };

it('a command that shows no effect ends with the last error of the controller', async () => {
  const driver = new PowerDriver(controls(busy, { accepted: true }), limits, new AbortController().signal);
  expect((await driver.on()).why).toMatch(
    /accepted two commands to switch on.*; the last error was: Node busy$/,
  );
});

it('a command whose time is over ends with the last error of the controller', async () => {
  const time = new AbortController();
  let readings = 0;
  const driver = new PowerDriver(
    {
      ...controls(busy),
      read: () => {
        readings += 1;
        // The first reading comes before the command.
        if (readings === 2) time.abort();
        return Promise.resolve({ power: 'off' });
      },
    },
    { ...limits, settleMs: 60_000, everyMs: 60_000 },
    time.signal,
  );
  await expect(driver.on()).rejects.toMatchObject({
    kind: 'Retryable',
    message: expect.stringContaining('busy'),
  });
});
