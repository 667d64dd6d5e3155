import { join } from 'node:path';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { hasTmux, openTmux, type TmuxScreen } from '../harness/cli/tmux.js';
import { until } from '../harness/until.js';

const program = join(import.meta.dirname, '..', 'harness', 'cli', 'live-view-program.mjs');

const wide = [
  'web: exec: systemctl restart the-service-wit… (operation 3)  1 h 00 m',
  '  412 of 900 tasks done, 2 failed, 4 running',
  ...[1, 2, 3, 4].map((n) => `  app-${n}  working  1 h 00 m  INSTALL a-service-with-a-rather-long-name`),
  'No worker has responded in time; the work continues when one does.',
];

const narrow = [
  'web: exec: systemctl restart the-servi…',
  '  412 of 900 tasks done, 2 failed, 4 r…',
  ...[1, 2, 3, 4].map((n) => `  app-${n}  working  1 h 00 m  INSTALL a-…`),
  'No worker has responded in time; the w…',
];

describe.skipIf(!hasTmux)('the live view of an operation on a terminal (skipped without tmux)', () => {
  let screen: TmuxScreen | undefined;
  afterEach(() => screen?.close());

  const open = (...more: readonly string[]): TmuxScreen => {
    screen = openTmux([process.execPath, program, inject('distPath'), ...more], { columns: 80, rows: 20 });
    return screen;
  };
  /** A terminal moves its first line out of sight when others need more rows. */
  const seen = (on: TmuxScreen): string =>
    on
      .lines()
      .filter((line) => line !== '' && line !== 'before')
      .join('\n');
  const shows = async (lines: readonly string[], { on }: { readonly on: TmuxScreen }): Promise<void> => {
    const wanted = lines.join('\n');
    await until('the screen', () => seen(on) === wanted, 60_000).catch(() => undefined);
    expect(seen(on)).toBe(wanted);
  };

  it('keeps the count at 40 columns, and no line of another width stays after a change of size', async () => {
    const on = open();
    await shows(wide, { on });
    for (const [columns, rows, lines] of [
      [40, 20, narrow],
      [80, 20, wide],
      [40, 9, narrow],
      [40, 20, narrow],
      [80, 9, wide],
    ] as const) {
      on.resize(columns, rows);
      await shows(lines, { on });
    }
  });

  it('fits into few rows, and has all of its lines again when there are more', async () => {
    const on = open();
    await shows(wide, { on });
    on.resize(80, 6);
    await shows([...wide.slice(0, 3), '  and 3 more nodes', ...wide.slice(-1)], { on });
    on.resize(80, 20);
    await shows(wide, { on });
  });

  it('stays on the screen at the end without the warning, and the next output follows it', async () => {
    const on = open();
    await shows(wide, { on });
    on.resize(40, 20);
    on.press('q');
    await shows([...narrow.slice(0, -1), 'after'], { on });
  });

  it('leaves nothing if it is fleeting', async () => {
    const on = open('fleeting');
    await shows(wide, { on });
    on.press('q');
    await shows(['after'], { on });
    expect(on.lines()[0]).toBe('before');
  });
});
