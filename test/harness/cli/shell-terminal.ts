import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { until } from '../until.js';

interface Start {
  readonly command: string;
  /** The start file of the shell, below HOME. It loads the completion as docs/reference/cli.md says. */
  readonly file: string;
  readonly text: string;
}

const starts: Readonly<Record<string, Start>> = {
  bash: {
    command: 'bash --noprofile -i',
    file: '.bashrc',
    text: `bind 'set enable-bracketed-paste off'
PS1='ready> '
source <(heddle completion bash)
`,
  },
  zsh: {
    command: 'zsh -d -i',
    file: '.zshrc',
    text: `unset zle_bracketed_paste
PROMPT='ready> '
fpath=(~/.zfunc $fpath)
autoload -Uz compinit && compinit -u
`,
  },
  fish: {
    command: 'fish -i',
    file: '.config/fish/config.fish',
    text: `set -g fish_greeting
set -g fish_autosuggestion_enabled 0
function fish_prompt; echo -n 'ready> '; end
`,
  },
};

/** Where a shell looks for completions by itself. */
const autoloaded: Readonly<Record<string, string>> = {
  zsh: '.zfunc/_heddle',
  fish: '.config/fish/completions/heddle.fish',
};

export const shellNames = Object.keys(starts);

export function hasShell(name: string): boolean {
  return spawnSync(name, ['--version']).status === 0;
}

export interface ShellTerminal {
  /** Types a text, Tab and Enter: the command that the shell then executed. */
  complete(typed: string): Promise<string>;
  /** Types a text and Tab: the terminal shows all of the words. */
  offered(typed: string, ...words: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts an interactive shell on a terminal. Its `heddle` completes, and notes commands instead
 * of executing them.
 */
export async function openShell(name: string, env: Readonly<Record<string, string>>): Promise<ShellTerminal> {
  const home = await mkdtemp(join(tmpdir(), 'heddle-shell-'));
  const start = starts[name];
  if (start === undefined) throw new Error(`there is no shell ${name}`);
  await put(home, start.file, start.text);
  await put(
    home,
    'cluster.yaml',
    `name: shop
variables:
  size: {type: number}
  mode: {allowed: [fast, safe]}
  hostile: {allowed: ['$(echo executed)']}
`,
  );
  // Without it, fish reads all manual pages of the system first.
  await mkdir(join(home, '.local/share/fish/generated_completions'), { recursive: true });
  const program = await put(home, 'bin/heddle', shim(home));
  const script = autoloaded[name];
  if (script !== undefined) await put(home, script, printedCompletion(program, name));
  const child = spawn('script', ['-qec', start.command, '/dev/null'], {
    cwd: home,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: `${join(home, 'bin')}:/usr/bin:/bin`, HOME: home, TERM: 'xterm', LANG: 'C.UTF-8', ...env },
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (shown += chunk));
  const closed = once(child, 'close');
  const lines = (file: string): readonly string[] =>
    existsSync(join(home, file)) ? readFileSync(join(home, file), 'utf8').split('\n').slice(0, -1) : [];
  await until(`a prompt of ${name}`, () => shown.includes('ready> '));

  const pressTab = async (): Promise<void> => {
    const before = lines('asked').length;
    child.stdin.write('\t');
    await until(`${name} to ask heddle, on: ${shown}`, () => lines('asked').length > before);
  };
  const pressEnter = async (): Promise<string> => {
    const before = lines('executed').length;
    child.stdin.write('\r');
    await until(`${name} to execute the line, on: ${shown}`, () => lines('executed').length > before);
    return lines('executed')[before] ?? '';
  };
  return {
    complete: async (typed) => {
      child.stdin.write(typed);
      await pressTab();
      return pressEnter();
    },
    offered: async (typed, ...words) => {
      const from = shown.length;
      child.stdin.write(typed);
      await pressTab();
      if (name === 'bash') await pressTab();
      await until(`${words.join(', ')}, on: ${shown}`, () => {
        const text = stripControls(shown.slice(from));
        return words.every((word) => text.includes(word));
      });
      await pressEnter();
    },
    close: async () => {
      child.stdin.write('exit\r');
      await closed;
      await rm(home, { recursive: true });
    },
  };
}

function stripControls(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\u001B(?:\[[\d;?]*[A-Za-z]|\(B)/g, '');
}

async function put(home: string, path: string, text: string): Promise<string> {
  const file = join(home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode: 0o755 });
  return file;
}

function shim(home: string): string {
  return `#!/bin/sh
case "$1" in
completion | __complete)
  '${process.execPath}' '${inject('distPath')}/cli-bundle/main.js' "$@"
  [ "$1" = completion ] || echo "$*" >> '${home}/asked' ;;
*) echo "$*" >> '${home}/executed' ;;
esac
`;
}

function printedCompletion(program: string, name: string): string {
  const { stdout, stderr, status } = spawnSync(program, ['completion', name], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}
