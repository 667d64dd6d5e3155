import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../until.js';

export interface ScriptOptions {
  /** Waits in the middle until this gate is opened. */
  readonly gate?: string;
  /** Shell text that runs in the middle. */
  readonly body?: string;
  /** More of the action: attempts, timeout, ... */
  readonly action?: object;
}

/** A file outside all machines in which scripts leave a line when they begin and one when they end. */
export interface Ledger {
  /** An action whose script writes `<cluster> <node> <service> <ACTION> begin`, and the same with `end`. */
  script(options?: ScriptOptions): object;
  /** In the order they were written; those that begin so. */
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
  const say = (what: string): string =>
    `echo "$HEDDLE_CLUSTER $HEDDLE_NODE $HEDDLE_SERVICE $HEDDLE_ACTION ${what}" >>"$LEDGER"`;
  return {
    lines,
    script: ({ gate, body = ':', action = {} } = {}) => ({
      type: 'shell',
      fields: {
        script: [
          say('begin'),
          ...(gate === undefined ? [] : ['while [ ! -e "$GATE" ]; do sleep 0.05; done']),
          body,
          say('end'),
        ].join('\n'),
        environment: { LEDGER: file, GATE: gate === undefined ? undefined : gateFile(gate) },
      },
      ...action,
    }),
    written: async (line) => {
      await until(`line "${line}" of a script`, async () => (await lines()).includes(line));
    },
    open: (gate) => writeFile(gateFile(gate), ''),
  };
}

/** The lines of scripts that ran once, one after the other. */
export function onceEach(node: string, actions: readonly string[]): readonly string[] {
  return actions.flatMap((action) => [`${node} ${action} begin`, `${node} ${action} end`]);
}
