import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A shell that keeps its folder and its variables from command to command. */
export interface Terminal {
  type(command: string): void;
  /** Of the last command, or since Ctrl-C. */
  output(): string;
  /** Of the last command, or of the shell itself. */
  exitCode(): number | undefined;
  interrupt(): void;
  close(): Promise<void>;
}

export function openTerminal(cwd: string, env: Readonly<Record<string, string>>): Terminal {
  // A process group of its own, for Ctrl-C. The shell itself survives that.
  const shell = spawn('bash', ['--norc'], { cwd, env, detached: true, stdio: 'pipe' });
  const closed = once(shell, 'exit');
  const mark = /\[ended with (\d+)\]\n$/;
  let text = '';
  shell.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  shell.stdin.on('error', () => undefined);
  shell.stdin.write('exec 2>&1; trap : INT\n');
  let isBusy = false;
  const signal = (name: NodeJS.Signals): void => {
    if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, name);
  };
  const exitCode = (): number | undefined => {
    const [, code] = mark.exec(text) ?? [];
    return code === undefined ? (shell.exitCode ?? undefined) : Number(code);
  };
  const interrupt = (): void => {
    text = '';
    signal('SIGINT');
  };
  return {
    type(command) {
      text = '';
      isBusy = true;
      shell.stdin.write(`{ ${command}\n} </dev/null\nprintf '[ended with %d]\\n' $?\n`);
    },
    output: () => text.replace(mark, '').replace(/(?<=[^\n])$/, '\n'),
    exitCode,
    interrupt,
    async close() {
      if (isBusy && exitCode() === undefined) interrupt();
      shell.stdin.end();
      const late = setTimeout(() => signal('SIGKILL'), 30_000);
      await closed;
      clearTimeout(late);
    },
  };
}
