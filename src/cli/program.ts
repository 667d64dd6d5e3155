import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addClusterVerbs } from './cluster-verbs.js';
import { addImageVerbs } from './image/verbs.js';
import { addMachineVerbs } from './machine/verbs.js';
import { addOperationVerbs } from './operation-verbs.js';
import type { Run } from './options.js';
import { addPoolVerbs } from './pool/verbs.js';
import { addReservationVerbs } from './reservation/verbs.js';
import { addResourceVerbs } from './resource/verbs.js';
import { addSystemVerbs } from './system-verbs.js';

/**
 * The command line as a table of verbs. A verb's module is loaded when it is run, so that help and checks of
 * files start quickly.
 */
export function createProgram(run: Run): Command {
  const program = new Command('heddle')
    .description('Locks a description of a cluster into running machines with running services, durably.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .showSuggestionAfterError()
    // So that a command with options of its own leaves those behind its subcommands to them.
    .enablePositionalOptions()
    // Before the verbs are added, which take these over: errors are written in one place.
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .configureHelp({ sortSubcommands: false, sortOptions: false, subcommandTerm: termOf })
    .addHelpText('after', `\n${exitCodeHelp}`);
  addClusterVerbs(program, run);
  addOperationVerbs(program, run);
  addMachineVerbs(program, run);
  addReservationVerbs(program, run);
  addImageVerbs(program, run);
  addPoolVerbs(program, run);
  addResourceVerbs(program, run);
  addSystemVerbs(program, run);
  return program;
}

/** `apply <file>`: every command has options, so nothing is said of them here. */
function termOf(command: Command): string {
  const words = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [command.name(), ...words].join(' ');
}

/** What `heddle` alone prints. */
export const shortHelp = `heddle: clusters from a file, durably

  heddle dev                  start everything on this machine
  heddle apply cluster.yaml   make a cluster, or bring it to its file
  heddle status web --watch   see what a cluster does
  heddle logs web app-1       what ran on a node, and what it printed
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
