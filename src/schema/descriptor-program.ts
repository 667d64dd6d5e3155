import { z } from 'zod';
import { passedVariableSchema } from './names.js';
import { errorAt, type Problem } from './problem.js';

/** How much a plugin may use where it runs as a program. */
export interface PluginLimits {
  readonly memoryMb?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly processes?: number | undefined;
  readonly calls?: number | undefined;
}

const limitsSchema = z.strictObject({
  memoryMb: z
    .int()
    .min(16)
    .max(1_048_576)
    .exactOptional()
    .meta({
      title: 'Memory',
      description: 'Most memory, in MB, of one program and what it starts; 512 unless given.',
    }),
  timeMs: z
    .int()
    .min(100)
    .max(86_400_000)
    .exactOptional()
    .meta({
      title: 'Time',
      description: 'Longest time of one call, in ms; that of the attempt unless given.',
    }),
  processes: z
    .int()
    .min(1)
    .max(1_000)
    .exactOptional()
    .meta({
      title: 'Processes',
      description: 'Most programs of this plugin at a time on a worker; 32 unless given.',
    }),
  calls: z
    .int()
    .min(1)
    .max(1_000_000)
    .exactOptional()
    .meta({ title: 'Calls', description: 'Calls after which a plugin host is replaced; 200 unless given.' }),
});

/** The keys of a descriptor for plugins that run as programs of their own. */
export const programSchemas = {
  command: z
    .array(z.string().min(1))
    .min(1)
    .exactOptional()
    .meta({
      title: 'Command',
      description:
        'In place of entry and class: a program and its words. Those that begin with ./ are files beside this one.',
    }),
  requests: z
    .array(
      z.enum([
        'run',
        'exec',
        'putFile',
        'secret',
        'claims.take',
        'claims.release',
        'claims.held',
        'calls.take',
        'record.read',
        'record.write',
        'progress',
        'resetNode',
      ]),
    )
    .exactOptional()
    .meta({
      title: 'Requests',
      description:
        'What the program may ask of the engine while it works; without any it gets an end of input after its task.',
    }),
  abilities: z
    .array(z.string().regex(/^[a-z]\w{0,31}$/, { error: 'Name of a method.' }))
    .exactOptional()
    .meta({
      title: 'Abilities',
      description: 'Optional methods that the program has, such as list and find.',
    }),
  environment: z
    .record(passedVariableSchema, z.string())
    .exactOptional()
    .meta({ title: 'Environment', description: 'Variables of the program besides PATH, HOME and LANG.' }),
  python: z
    .string()
    .regex(/^\.\/(?!.*\.\.)[^\s]+$/, {
      error: 'A file in the folder of the plugin, such as ./requirements.txt.',
    })
    .exactOptional()
    .meta({
      title: 'Python packages',
      description:
        'Requirements file for pip, with a hash for each package, that heddle plugins setup installs; HEDDLE_PYTHON names the environment.',
    }),
  limits: limitsSchema
    .exactOptional()
    .meta({
      title: 'Limits',
      description: 'How much it may use; pluginLimits in heddle.yaml goes over them.',
    }),
} as const;

interface ProgramParts {
  readonly entry?: string;
  readonly class?: string;
  readonly command?: readonly string[];
  readonly requests: readonly string[];
  readonly abilities: readonly string[];
  readonly python?: string;
}

/** A plugin is a class or a command, not both, and says only what goes with it. */
export function checkProgram({
  entry,
  class: name,
  command,
  requests,
  abilities,
  python,
}: ProgramParts): readonly Problem[] {
  if (command === undefined) {
    return [
      ...(entry === undefined
        ? [errorAt(['entry'], 'is missing', 'Name the module and its class, or a command.')]
        : []),
      ...(name === undefined
        ? [errorAt(['class'], 'is missing', 'Name the class that entry exports, or a command.')]
        : []),
      ...(requests.length > 0
        ? [errorAt(['requests'], 'belongs to a command', 'A class has all it may ask for at hand.')]
        : []),
      ...(abilities.length > 0
        ? [errorAt(['abilities'], 'belongs to a command', 'The methods of a class are seen.')]
        : []),
      ...(python === undefined ? [] : [errorAt(['python'], 'belongs to a command', 'Remove it.')]),
    ];
  }
  return [
    ...(entry === undefined ? [] : [errorAt(['entry'], 'is there besides command', 'Keep one of them.')]),
    ...(name === undefined ? [] : [errorAt(['class'], 'is there besides command', 'Keep one of them.')]),
  ];
}
