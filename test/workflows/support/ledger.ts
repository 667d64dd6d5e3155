import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../support/until.js';

export interface ScriptOptions {
  /** Waits in the middle until this gate is opened. */
  readonly gate?: string;
  /** How it ends; 0 unless given. May be shell words. */
  readonly exit?: string;
  /** More of the action: attempts, timeout, ... */
  readonly action?: object;
}

/** A file outside all machines in which scripts leave a line when they begin and one when they end. */
export interface Ledger {
  /** An action whose script writes `<line> begin` and `<line> end`. */
  script(line: string, options?: ScriptOptions): object;
  lines(about?: string): Promise<readonly string[]>;
  /** Resolves when the line was written. */
  written(line: string): Promise<void>;
  open(gate: string): Promise<void>;
}

/** Directory machines run as the user of the test, so their scripts reach its folder. */
export function openLedger(folder: string): Ledger {
  const file = join(folder, 'ledger');
  const gateFile = (gate: string): string => join(folder, `gate-${gate}`);
  const lines = async (about = ''): Promise<readonly string[]> => {
    const text = await readFile(file, 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '' && line.startsWith(about));
  };
  return {
    lines,
    script: (line, { gate, exit = '0', action = {} } = {}) => ({
      type: 'shell',
      fields: {
        script: [
          'echo "$LINE begin" >>"$LEDGER"',
          ...(gate === undefined ? [] : ['while [ ! -e "$GATE" ]; do sleep 0.05; done']),
          'echo "$LINE end" >>"$LEDGER"', `exit ${exit}`,
        ].join('\n'),
        environment: { LEDGER: file, LINE: line, ...(gate === undefined ? {} : { GATE: gateFile(gate) }) },
      },
      ...action,
    }),
    written: async (line) => {
      await until(`line "${line}" of a script`, async () => (await lines()).includes(line));
    },
    open: (gate) => writeFile(gateFile(gate), ''),
  };
}
