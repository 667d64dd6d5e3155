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
