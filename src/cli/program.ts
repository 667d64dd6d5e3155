import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { artifactCommands } from './artifact/commands.js';
import { clusterCommands } from './cluster/commands.js';
import { addCommand, addCommonOptions, argumentTerm, type CommandDefinition, type Run } from './command.js';
import { completionCommands } from './completion/commands.js';
import { imageCommands } from './image/commands.js';
import { machineCommands } from './machine/commands.js';
import { poolCommands } from './pool/commands.js';
import { reservationCommands } from './reservation/commands.js';
import { systemCommands } from './system/commands.js';

export const commands: readonly CommandDefinition[] = [
  ...clusterCommands,
  ...machineCommands,
  reservationCommands,
  ...imageCommands,
  ...poolCommands,
  artifactCommands,
  ...systemCommands,
  ...completionCommands,
];

/** The whole command line. */
export function createProgram(run: Run): Command {
  const program = new Command('heddle')
    .description('Turns a description of a cluster into running machines with running services, durably.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .showSuggestionAfterError()
    // A command with options leaves the options after its subcommands to those.
    .enablePositionalOptions()
    // Before the verbs are added, which take these over: errors are written in one place.
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .configureHelp({ sortSubcommands: false, sortOptions: false, subcommandTerm: termOf })
    .addHelpText('after', `\n${exitCodeHelp}`);
  addCommonOptions(program);
  for (const definition of commands) addCommand(program, definition, run);
  return program;
}

/** `apply <file>`: every command has options, so they are not mentioned here. */
function termOf(command: Command): string {
  return [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' ');
}

/** What `heddle` alone prints. */
export const shortHelp = `heddle: clusters from a file, durably

  heddle dev                  start everything on this machine
  heddle apply cluster.yaml   create a cluster, or update it to its file
  heddle status web --watch   watch what a cluster does
  heddle logs web app-1       show what ran on a node, and its output
  heddle delete web           delete a cluster

Example:  heddle dev        and in another terminal   heddle apply examples/web.yaml
All commands: heddle --help
`;

const exitCodeHelp =
  'Exit codes: 0 ok, 1 failed or held, 2 usage or invalid input, 3 refused, 4 not found, 5 no server or no worker, 130 interrupted.';

function readVersion(): string {
  const description = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return description.version;
}
