import type { Command } from 'commander';
import { createProgram } from '../../../src/cli/program.js';

/** Every command of the program by its path, such as `machine load`; '' is the program itself. */
export const allCommands: ReadonlyMap<string, Command> = new Map(
  pathsIn(createProgram(() => Promise.resolve())),
);

function pathsIn(command: Command, path = ''): readonly (readonly [string, Command])[] {
  return [
    [path, command],
    ...command.commands.flatMap((inner) => pathsIn(inner, `${path} ${inner.name()}`.trim())),
  ];
}
