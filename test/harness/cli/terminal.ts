import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { until } from '../until.js';

/** Whether there is the program `script` of util-linux, which runs a command on a terminal of its own. */
export const hasTerminal = spawnSync('script', ['--version']).status === 0;

export interface OnTerminal {
  shown(): string;
  readonly ended: Promise<number>;
  /** Answers a question once it is asked. */
  answer(prompt: string, keys: string): Promise<void>;
  kill(): void;
}

/** Starts the built command line on a terminal, with no settings but the given ones. */
export function startOnTerminal(
  words: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): OnTerminal {
  const line = [process.execPath, join(inject('distPath'), 'cli-bundle', 'main.js'), ...words]
    .map((word) => `'${word}'`)
    .join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: cwd, TERM: 'xterm', ...env },
  });
  let shown = '';
  let answered = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (shown += chunk));
  return {
    shown: () => shown,
    ended: once(child, 'close').then(([code]) => Number(code)),
    answer: async (prompt, keys) => {
      await until(`${prompt} to be asked`, () => {
        if (child.exitCode !== null) throw new Error(`it ended:\n${shown}`);
        return shown.includes(prompt, answered);
      });
      answered = shown.length;
      child.stdin.write(keys);
    },
    kill: () => void child.kill(),
  };
}
