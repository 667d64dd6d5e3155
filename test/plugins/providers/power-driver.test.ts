import { expect, it } from 'vitest';
import { PowerDriver, type PowerControls, type Told } from '../../../src/plugins/bare-metal/index.js';

const limits = { settleMs: 20, shutDownMs: 0, everyMs: 1, readings: 1 };
const refused: Told = { told: false, why: 'busy' };

/** A controller that stays off, and answers commands with these in turn. */
function controls(...answers: readonly Told[]): PowerControls {
  const left = [...answers];
  return {
    read: () => Promise.resolve({ power: 'off' }),
    on: () => Promise.resolve(left.shift() ?? refused),
    off: () => Promise.resolve({ told: true }),
  };
}

it.each<readonly [what: string, answers: readonly Told[], answer: string]>([
  ['refuses both times has done nothing', [refused, refused], 'not done'],
  ['took the command, and then refuses: what it took may still come', [{ told: true }, refused], 'unknown'],
  ['refuses, and then takes it without anything to be read', [refused, { told: true }], 'unknown'],
  ['takes it twice, without anything to be read', [{ told: true }, { told: true }], 'unknown'],
])('a controller that %s', async (_what, answers, answer) => {
  expect(
    await new PowerDriver(controls(...answers), limits, new AbortController().signal).on(),
  ).toMatchObject({ answer });
});

it.each<readonly [readings: readonly ('on' | 'off')[], power: string]>([
  [['off', 'off'], 'off'],
  [['off', 'on'], 'unknown'],
  [['on', 'off'], 'unknown'],
])(
  'a controller that reads %j is %s, and no command is sent for what is unknown',
  async (readings, power) => {
    const driverOf = (commands: string[]): PowerDriver => {
      let count = 0;
      const note = (word: string): Promise<Told> => {
        commands.push(word);
        return Promise.resolve({ told: true });
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
