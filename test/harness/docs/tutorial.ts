import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { delimiter, dirname, join } from 'node:path';
import { inject, test } from 'vitest';
import { emulatorsFolder } from '../bmc/racks.js';
import { commandPath } from '../cli/run-heddle.js';
import { newFolder } from '../folder.js';
import { openTerminal, type Terminal } from './page-terminal.js';
import { patternOf, readSteps, type Step } from './tutorial-page.js';

const root = join(import.meta.dirname, '../../..');
const limitMs = 120_000;

/**
 * Does what a page of docs/tutorials says, in a new folder and with a home of its own.
 * @param more variables of the reader's environment, as they are when the test begins.
 */
export function testTutorial(name: string, more: () => Readonly<Record<string, string>> = () => ({})): void {
  test(`docs/tutorials/${name}.md works from its beginning to its end`, async (context) => {
    const page = `docs/tutorials/${name}.md`;
    const steps = readSteps(readFileSync(join(root, page), 'utf8'));
    const folder = newFolder();
    const environment = { ...environmentIn(folder), ...more() };
    const cwd = join(folder, 'work');
    const terminals = new Map<string, Terminal>();
    const terminalOf = (title: string): Terminal => {
      const terminal = terminals.get(title) ?? openTerminal(cwd, environment);
      terminals.set(title, terminal);
      return terminal;
    };
    try {
      for (const step of steps) {
        const fault = step.kind === 'file' ? writeStep(cwd, step) : await typeStep(step, terminalOf);
        if (fault === undefined) continue;
        context.skip(step.kind === 'needs', `this machine lacks: ${fault}`);
        throw new Error(`${page}:${step.line}: ${fault}`);
      }
    } finally {
      for (const terminal of terminals.values()) await terminal.close();
    }
  });
}

type FileStep = Extract<Step, { readonly kind: 'file' }>;

function writeStep(cwd: string, { path, text }: FileStep): undefined {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
}

/** @returns what is wrong with the step. */
async function typeStep(
  step: Exclude<Step, FileStep>,
  terminalOf: (title: string) => Terminal,
): Promise<string | undefined> {
  const { kind, exitCode, shown, text } = step;
  const terminal = terminalOf(step.terminal);
  if (kind === 'interrupt') terminal.interrupt();
  else if (kind !== 'look') terminal.type(text);
  const isLasting = step.terminal !== '' && kind !== 'interrupt';
  const pattern = new RegExp(`^${patternOf(shown)}${isLasting ? '' : '$'}`);
  const isOver = (): boolean =>
    terminal.exitCode() !== undefined || (isLasting && pattern.test(terminal.output()));
  for (const end = Date.now() + limitMs; Date.now() < end && !isOver();) await pause(50);
  const found = terminal.exitCode();
  const isRight = pattern.test(terminal.output()) && (isLasting || found === exitCode);
  return isRight
    ? undefined
    : `${text}\nIt printed:\n${terminal.output()}\nThe page shows:\n${shown.join('\n')}\nExit code: ${found ?? 'none yet'}`;
}

/** What a reader has: `heddle` in PATH, which is this build, and no settings. */
function environmentIn(folder: string): Readonly<Record<string, string>> {
  const home = join(folder, 'home');
  const bin = join(folder, 'bin');
  for (const one of [home, bin, join(folder, 'work')]) mkdirSync(one);
  const program = `"${process.execPath}" "${join(root, 'bin/heddle.mjs')}"`;
  // Other servers of this machine may have the usual port.
  const script = `#!/bin/sh\nif [ "$1" = dev ]; then set -- "$@" --port 0; fi\nexec ${program} "$@"\n`;
  writeFileSync(join(bin, 'heddle'), script, { mode: 0o755 });
  return {
    PATH: [bin, commandPath].join(delimiter),
    HOME: home,
    LANG: 'C.UTF-8',
    // npm asks no registry for its own newer version.
    npm_config_update_notifier: 'false',
    TEMPORAL_CLI: inject('temporalBinary'),
    EMULATORS: emulatorsFolder,
    REPOSITORY: root,
  };
}
