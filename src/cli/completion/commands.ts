import { Argument } from 'commander';
import { command, type CommandDefinition } from '../command.js';
import { shells } from './scripts.js';

export const completionCommands: readonly CommandDefinition[] = [
  command('completion', 'print the completion of a shell', {
    examples: ['source <(heddle completion bash)'],
    arguments: [new Argument('<shell>', 'name of the shell').choices(shells)],
    needs: 'nothing',
    load: async () => (await import('./scripts.js')).printCompletion,
  }),
  command('__complete [words...]', 'answers the completion of a shell', {
    hidden: true,
    needs: 'nothing',
    load: async () => (await import('./complete.js')).complete,
  }),
];
