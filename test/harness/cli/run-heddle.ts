import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, join } from 'node:path';
import { expect, inject } from 'vitest';
import type { Stack } from '../stack.js';
import { expectDescribed } from './output-documents.js';

export interface HeddleOptions {
  readonly distPath: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** On a terminal of its own; what is typed is written to `child.stdin`. */
  readonly terminal?: true;
}

export interface Ended {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<Ended>;
}

export const commandPath = [
  dirname(process.execPath),
  '/usr/local/bin',
  '/usr/bin',
  '/bin',
  '/usr/sbin',
  '/sbin',
].join(delimiter);

/** Starts the built command line as a process of its own, with no settings but the given ones. */
export function startHeddle(
  words: readonly string[],
  { distPath, env = {}, cwd, stdin, terminal }: HeddleOptions,
): Running {
  const command = [process.execPath, join(distPath, 'cli-bundle', 'main.js'), ...words];
  const [program = '', ...rest] =
    terminal === true ? ['script', '-qec', command.join(' '), '/dev/null'] : command;
  const child = spawn(program, rest, {
    env: { PATH: commandPath, HOME: '/nonexistent', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd,
  });
  child.stdin.on('error', () => undefined);
  if (terminal !== true) child.stdin.end(stdin ?? '');
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output.stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output.stderr += chunk));
  const ended = once(child, 'close').then(([code]): Ended => ({
    code: typeof code === 'number' ? code : undefined,
    ...output,
  }));
  return { child, stdout: () => output.stdout, stderr: () => output.stderr, ended };
}

/** Its JSON output must be as the published schemas say. */
export async function runHeddle(words: readonly string[], options: HeddleOptions): Promise<Ended> {
  const ended = await startHeddle(words, options).ended;
  expectDescribed(words, ended.stdout);
  return ended;
}

/** The command line as a person has it who works on this stack. */
export interface StackHeddle {
  readonly run: (...words: readonly string[]) => Promise<Ended>;
  /** With --json; it must end well. */
  readonly json: (...words: readonly string[]) => Promise<Readonly<Record<string, unknown>>>;
}

export function heddleOn(stack: () => Stack): StackHeddle {
  const run: StackHeddle['run'] = (...words) => {
    const { folder, namespace } = stack();
    return runHeddle(words, {
      distPath: inject('distPath'),
      cwd: folder,
      env: {
        HEDDLE_CONFIG: join(folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: namespace,
      },
    });
  };
  const json: StackHeddle['json'] = async (...words) => {
    const ended = await run(...words, '--json');
    expect(ended).toMatchObject({ code: 0 });
    return JSON.parse(ended.stdout) as Readonly<Record<string, unknown>>;
  };
  return { run, json };
}
