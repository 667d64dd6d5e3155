import { Option, type Command } from 'commander';

/** Runs a verb; it gives the code to exit with. */
export type Run = (verb: () => Promise<number>) => Promise<void>;

/** Options that verbs share, after their own. */
export function withCommonOptions(command: Command, needs: 'server' | 'configuration'): Command {
  command
    .optionsGroup('Common options:')
    .option('--json', 'write JSON for programs')
    .option('--config <file>', 'heddle.yaml to use (default: HEDDLE_CONFIG, ./heddle.yaml, the user\'s configuration folder)');
  if (needs === 'configuration') return command;
  return command
    .option('--address <host:port>', 'Temporal server (default: TEMPORAL_ADDRESS, temporal.toml, a running heddle dev)')
    .option('--namespace <name>', 'Temporal namespace')
    .option('--profile <name>', 'profile of temporal.toml');
}

/** --wait is there to be written out; it is what happens anyway. */
export function withWait(command: Command): Command {
  return command
    .addOption(new Option('--wait', 'wait until it is done, and show progress').default(true, 'it does'))
    .option('--no-wait', 'return as soon as the request is accepted');
}
