import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ServerOptions } from './configuration.js';

/** Options of everything that makes an operation. */
export interface OperationOptions extends ServerOptions {
  readonly wait: boolean;
  readonly queue?: boolean;
  /** Preview only. */
  readonly plan?: boolean;
  /** How many nodes at a time. */
  readonly rolling?: number;
  readonly nodes?: readonly string[];
}

/** Runs a verb; it gives the code to exit with. */
export type Run = (verb: () => Promise<number>) => Promise<void>;

/** Options that verbs share, after their own. */
export function withCommonOptions(command: Command, needs: 'server' | 'configuration'): Command {
  command
    .optionsGroup('Common options:')
    .option('--json', 'write JSON for programs')
    .option(
      '--config <file>',
      "heddle.yaml to use (default: HEDDLE_CONFIG, ./heddle.yaml, the user's configuration folder)",
    );
  if (needs === 'configuration') return command;
  return command
    .option(
      '--address <host:port>',
      'Temporal server (default: TEMPORAL_ADDRESS, temporal.toml, a running heddle dev)',
    )
    .option('--namespace <name>', 'Temporal namespace')
    .option('--profile <name>', 'profile of temporal.toml');
}

/** --wait is there to be written out; it is what happens anyway. */
export function withWait(command: Command): Command {
  return command
    .addOption(new Option('--wait', 'wait until it is done, and show progress').default(true, 'it does'))
    .option('--no-wait', 'return as soon as the request is accepted');
}

/** What every operation can be asked with, beside its own. */
export function withOperation(command: Command): Command {
  return withWait(
    command
      .option('--plan', 'only show what would be done; nothing is changed')
      .option(
        '--queue',
        'let the operations before it end first, instead of being refused while the cluster is busy',
      ),
  );
}

export function withRolling(command: Command): Command {
  return command.option(
    '--rolling <n>',
    'at most so many nodes of a service at a time (default: all together)',
    parseWidth,
  );
}

export function withNodes(command: Command): Command {
  return command.option('--nodes <nodes>', 'these nodes only: app-1,app-2', parseNodes);
}

function parseWidth(text: string): number {
  const width = Number(text);
  if (/^[1-9]\d*$/.test(text) && Number.isSafeInteger(width)) return width;
  throw new InvalidArgumentError('It is a whole number from 1 on.');
}

/** May be given more than once. */
function parseNodes(text: string, before: readonly string[] | undefined): readonly string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) throw new InvalidArgumentError('It names nodes, with commas between them.');
  return [...new Set([...(before ?? []), ...names])];
}
