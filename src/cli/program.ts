import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { artifactCommands } from './artifact/commands.js';
import { clusterCommands } from './cluster/commands.js';
import {
  addCommand,
  addCommonOptions,
  argumentTerm,
  generalPage,
  type CommandDefinition,
  type Run,
} from './command.js';
import { completionCommands } from './completion/commands.js';
import { exitCodeMeanings, exitCodes } from './errors.js';
import { helpEnd, helpFormat, pagesFolder } from './help-format.js';
import { imageCommands } from './image/commands.js';
import { machineCommands } from './machine/commands.js';
import { packageFolder } from './package-folder.js';
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

const helpCommand = ['help [command]', 'print help of a command'] as const;

/** The whole command line. */
export function createProgram(run: Run): Command {
  const program = new Command('heddle')
    .description('Turns a description of a cluster into running machines with running services, durably.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpCommand(...helpCommand)
    .showSuggestionAfterError()
    // A command with options leaves the options after its subcommands to those.
    .enablePositionalOptions()
    // Before the verbs are added, which take these over: errors are written in one place.
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .configureHelp({ ...helpFormat, subcommandTerm: termOf })
    .addHelpText('after', () => helpEnd(Object.keys(firstCommands), generalPage))
    .addHelpText('after', placeOfPages)
    .addHelpText('after', exitCodeHelp);
  addCommonOptions(program);
  for (const definition of commands) addCommand(program, definition, run);
  // Once more, because it belongs to the last group; commands within commands have it from above.
  return program.helpCommand(...helpCommand);
}

/** `apply <file>`: every command has options, so they are not mentioned here. */
function termOf(command: Command): string {
  return [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' ');
}

/** A way through the commands, for those who do not know them yet. */
const firstCommands = {
  'heddle dev': 'start everything on this machine',
  'heddle apply cluster.yaml': 'create a cluster, or update it to its file',
  'heddle status web --watch': 'watch what a cluster does',
  'heddle logs web app-1': 'show what ran on a node, and its output',
  'heddle delete web': 'delete a cluster',
};

/** What `heddle` alone prints. */
export const shortHelp = `heddle: clusters from a file, durably

${Object.entries(firstCommands)
  .map(([line, about]) => `  ${line.padEnd(27)} ${about}\n`)
  .join('')}
Example:  heddle dev        and in another terminal   heddle apply examples/web.yaml
All commands: heddle --help
`;

const exitCodeHelp = [
  '',
  'Exit codes:',
  ...Object.entries(exitCodeMeanings).map(
    ([name, meaning]) => `  ${String(exitCodes[name as keyof typeof exitCodes]).padEnd(4)} ${meaning}`,
  ),
].join('\n');

/** Nothing where the pages are not installed, as in a container. */
function placeOfPages(): string {
  return existsSync(pagesFolder) ? `Pages are in ${pagesFolder}` : '';
}

function readVersion(): string {
  const description = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return description.version;
}
