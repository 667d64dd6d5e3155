import { describe, expect, it } from 'vitest';
import { parseMoment } from '../../../src/schema/reservation/moment.js';
import { readReservation, type WrittenReservation } from '../../../src/schema/reservation/request.js';
import { formatProblem } from '../../../src/schema/problem.js';

const now = Date.parse('2026-07-01T09:00:00Z');

describe('a moment', () => {
  it.each([
    ['2026-07-01T09:00:00Z', now],
    ['2026-07-01T11:00:00+02:00', now],
    ['2026-07-01 09:00:00.000Z', now],
    ['2026-07-01 09:00', new Date(2026, 6, 1, 9).getTime()],
    ['2026-07-01', new Date(2026, 6, 1).getTime()],
    ['2026-02-30 09:00', undefined],
    ['2026-13-01', undefined],
    ['tomorrow', undefined],
    ['', undefined],
    ['1751360400', undefined],
    ['2026-07-01T25:00:00Z', undefined],
  ])('%s', (text, at) => {
    expect(parseMoment(text)).toBe(at);
  });
});

describe('a reservation file', () => {
  it('becomes a request', () => {
    expect(readReservation({ image: 'web@3', user: 'ada', for: '2h' }, now)).toEqual({
      ok: true,
      request: {
        user: 'ada',
        image: { name: 'web', revision: '3' },
        to: now + 7_200_000,
        wanted: { count: 1 },
      },
    });
    expect(
      readReservation(
        {
          image: 'web',
          user: 'ada',
          from: '2026-07-01T10:00:00Z',
          to: '2026-07-01T11:00:00Z',
          machines: ['a', 'b'],
          can: ['CAPTURE'],
        },
        now,
      ),
    ).toEqual({
      ok: true,
      request: {
        user: 'ada',
        image: { name: 'web', revision: '1' },
        from: now + 3_600_000,
        to: now + 7_200_000,
        wanted: { count: 2, machines: ['a', 'b'], can: ['CAPTURE'] },
      },
    });
  });

  it.each([
    [{}, /to: a reservation must have one end. Set either to, a time, or for/],
    [{ to: '2026-07-01T10:00:00Z', for: '1h' }, /Set either to, a time, or for/],
    [{ to: '2026-07-01T08:00:00Z' }, /to: it ends at .* not after its start/],
    [{ from: '2026-07-01T08:00:00Z', to: '2026-07-01T10:00:00Z' }, /from: it starts at .* past/],
    [{ image: 'a b', for: '1h' }, /image: "a b" is not a valid image: use name, or name@revision/],
    [{ user: '', for: '1h' }, /^user: "" is not valid. Must be a name without[^;]*$/],
    [{ user: '\t', for: '1h' }, /user/],
    [{ for: 'long' }, /for: "long" is not a duration/],
    [{ for: '40d' }, /30 days/],
    [{ from: 'soon', for: '1h' }, /from: "soon" is not a valid time/],
    [{ for: '1h', machines: ['a', 'a'] }, /machines: a machine is listed twice/],
    [{ for: '1h', machines: ['a'], count: 2 }, /count: is 2, but 1 machines are listed/],
    [{ for: '1h', count: 51 }, /count/],
    [
      { for: '1h', can: ['FLY'] },
      /can\[0\]: "FLY" is not allowed. An action of machines, such as POWER_RESET/,
    ],
    [{ for: '1h', colour: 'red' }, /colour/],
  ])('%j is wrong', (part, expected) => {
    const reading = readReservation({ image: 'web', user: 'ada', ...part } as WrittenReservation, now);
    expect(reading.ok ? '' : reading.problems.map(formatProblem).join('; ')).toMatch(expected);
  });
});
