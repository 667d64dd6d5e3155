import { z } from 'zod';
import { passedVariableSchema } from './names.js';
import { errorAt, type Problem } from './problem.js';

/** Resource limits of a plugin that runs as a program. */
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
      default: 512,
      description: 'Maximum memory of one program and its child processes, in MB.',
    }),
  timeMs: z
    .int()
    .min(100)
    .max(86_400_000)
    .exactOptional()
    .meta({ title: 'Time', description: 'Timeout of one call, in ms. Default: the timeout of the attempt.' }),
  processes: z
    .int()
    .min(1)
    .max(1_000)
    .exactOptional()
    .meta({
      title: 'Processes',
      default: 32,
      description: 'Maximum number of concurrent programs of the plugin on a worker.',
    }),
  calls: z
    .int()
    .min(1)
    .max(1_000_000)
    .exactOptional()
    .meta({
      title: 'Calls',
      default: 200,
      description: 'Number of calls after which a plugin host is replaced.',
    }),
});

/** The versions of the messages between engine and program that this Heddle speaks. */
const protocolVersions: readonly number[] = [1];

/**
 * The newest version of the protocol that engine and program both speak.
 * @param spoken What the descriptor names; by default the first version.
 */
export function negotiateProtocol(spoken: readonly number[] = [1]): number | undefined {
  const common = protocolVersions.filter((version) => spoken.includes(version));
  return common.length === 0 ? undefined : Math.max(...common);
}

/** Keys of the descriptor of a plugin that runs as a program. */
export const programSchemas = {
  command: z
    .array(z.string().min(1))
    .min(1)
    .exactOptional()
    .meta({
      title: 'Command',
      description:
        'Instead of entry and class: a program and its arguments. Arguments that begin with ./ are files in the folder of this file.',
    }),
  protocol: z
    .array(z.int().min(1).max(1_000))
    .min(1)
    .max(100)
    .exactOptional()
    .meta({
      title: 'Protocol',
      default: [1],
      description: 'Versions of the messages between engine and program that the program speaks.',
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
        'Requests that the program may send to the engine while it runs. Without requests, its standard input ends after the task.',
    }),
  abilities: z
    .array(z.string().regex(/^[a-z]\w{0,31}$/, { error: 'Name of a method.' }))
    .exactOptional()
    .meta({
      title: 'Abilities',
      description: 'Optional methods that the program implements, such as list and find.',
    }),
  environment: z
    .record(passedVariableSchema, z.string())
    .exactOptional()
    .meta({
      title: 'Environment',
      description: 'Environment variables of the program in addition to PATH, HOME and LANG.',
    }),
  python: z
    .string()
    .regex(/^\.\/(?!.*\.\.)[^\s]+$/, {
      error: 'A file in the folder of the plugin, such as ./requirements.txt.',
    })
    .exactOptional()
    .meta({
      title: 'Python packages',
      description:
        'Requirements file for pip, with a hash for each package, which heddle plugins setup installs. The environment variable HEDDLE_PYTHON is the path of the Python environment.',
    }),
  limits: limitsSchema
    .exactOptional()
    .meta({ title: 'Limits', description: 'Resource limits; pluginLimits in heddle.yaml overrides them.' }),
} as const;

interface ProgramParts {
  readonly entry?: string;
  readonly class?: string;
  readonly command?: readonly string[];
  readonly protocol?: readonly number[];
  readonly requests: readonly string[];
  readonly abilities: readonly string[];
  readonly python?: string;
}

/** A plugin is either a class or a command, and has only the keys of that form. */
export function checkProgram({
  entry,
  class: name,
  command,
  protocol,
  requests,
  abilities,
  python,
}: ProgramParts): readonly Problem[] {
  if (command === undefined) {
    return [
      ...(entry === undefined ? [errorAt(['entry'], 'is missing', 'Set entry and class, or command.')] : []),
      ...(name === undefined
        ? [errorAt(['class'], 'is missing', 'Set the class that entry exports, or command.')]
        : []),
      ...(requests.length > 0
        ? [errorAt(['requests'], 'requires command', 'Remove it: a class calls the context instead.')]
        : []),
      ...(abilities.length > 0
        ? [errorAt(['abilities'], 'requires command', 'Remove it: the methods of a class are detected.')]
        : []),
      ...(python === undefined ? [] : [errorAt(['python'], 'requires command', 'Remove it.')]),
      ...(protocol === undefined ? [] : [errorAt(['protocol'], 'requires command', 'Remove it.')]),
    ];
  }
  return [
    ...(negotiateProtocol(protocol) === undefined
      ? [
          errorAt(
            ['protocol'],
            `the program speaks only version ${protocol?.join(', ')} of the protocol, but this Heddle only ${protocolVersions.join(', ')}`,
            'Install a version of the plugin for this Heddle, or a Heddle for this version of the plugin.',
          ),
        ]
      : []),
    ...(entry === undefined
      ? []
      : [errorAt(['entry'], 'cannot be combined with command', 'Remove one of them.')]),
    ...(name === undefined
      ? []
      : [errorAt(['class'], 'cannot be combined with command', 'Remove one of them.')]),
  ];
}
