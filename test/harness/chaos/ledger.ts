import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** An execution of a script, as it told of itself. */
export interface Execution {
  readonly run: string;
  readonly clusterUid: string;
  readonly node: string;
  readonly action: string;
  readonly ended: boolean;
}

/** A file outside of all machines, in which each script leaves its run id when it begins and when it ends. */
export interface Ledger {
  readonly file: string;
  /** Shell text; `body` runs in the middle. LEDGER must be in its environment, or written in by `here`. */
  script(body: string): string;
  /** The same for commands, which have no environment of their own. */
  command(body: string): string;
  executions(): Promise<readonly Execution[]>;
  /** Grows with every script that begins or ends. */
  size(): Promise<number>;
}

/** Directory machines run as the user of the test, so their scripts reach its folder. */
export function openLedger(folder: string): Ledger {
  const file = join(folder, 'ledger');
  // Who runs a script without a run's folder gives RUN itself.
  const script = (body: string): string =>
    [
      '[ -n "$RUN" ] || read -r RUN <"${HEDDLE_RUN%/*}/id"',
      'echo "$RUN begin" >>"$LEDGER"',
      body,
      'echo "$RUN end" >>"$LEDGER"',
    ].join('\n');
  return {
    file,
    script,
    command: (body) => `LEDGER='${file}'\n${script(body)}`,
    executions: async () => readExecutions(await readFile(file, 'utf8').catch(() => '')),
    size: async () =>
      stat(file).then(
        (about) => about.size,
        () => 0,
      ),
  };
}

function readExecutions(text: string): readonly Execution[] {
  const lines = text.split('\n').filter((line) => line !== '');
  const ended = new Set(
    lines.filter((line) => line.endsWith(' end')).map((line) => line.slice(0, -' end'.length)),
  );
  return lines
    .filter((line) => line.endsWith(' begin'))
    .map((line) => {
      const run = line.slice(0, -' begin'.length);
      const [, clusterUid = '', node = '', action = ''] =
        /^([^/]+)\/([^/]+)\/[^/]+\/([A-Z]+)\//.exec(run) ?? [];
      return { run, clusterUid, node, action, ended: ended.has(run) };
    });
}
