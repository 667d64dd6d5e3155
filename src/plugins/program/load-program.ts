import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { childEnvironment } from '../../config/child-environment.js';
import type { Json, JsonObject } from '../../model/json.js';
import { milliseconds } from '../../model/milliseconds.js';
import type { Settings } from '../../schema/config.js';
import { negotiateProtocol, type PluginLimits } from '../../schema/descriptor-program.js';
import { clientPlan } from '../clients.js';
import {
  Provider,
  type CreateInput,
  type MachineInput,
  type Shell,
  type SshAuth,
  type TaskResult,
} from '../contract.js';
import { PluginError } from '../errors.js';
import type { FoundPlugin } from '../find-plugins.js';
import { abilitiesOf } from '../load-class.js';
import { sdkFolder } from '../plugin-names.js';
import type {
  AutomatorContext,
  AutomatorWithAbilities,
  Loaded,
  ProviderContext,
  ProviderWithAbilities,
} from '../registered.js';
import { invokeAbility, invokeAction, type ProgramContext, type ProgramPlugin } from './invoke.js';
import { UniformAutomator } from '../uniform-automator.js';
import { HostPool, OneShotPool } from './pool.js';
import type { Sandbox } from './sandbox.js';

export interface ProgramOptions {
  /** The worker's environment, from which PATH, LANG and the variables of `passed` are passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Variables that heddle.yaml grants, by plugin name. */
  readonly passed?: Readonly<Record<string, readonly string[]>>;
  /** Limits by plugin name; they replace those of the descriptor. */
  readonly limits: Settings['pluginLimits'];
  /** Where `heddle plugins setup` makes Python environments, one folder for each plugin. */
  readonly pythonFolder?: string;
  /** Receives output that belongs to no call, such as that of a client that cannot be stopped. */
  readonly say?: (text: string) => void;
}

/** Where interpreters look for the libraries for plugins, by the names of their variables. */
const libraryFolders = { PYTHONPATH: join(sdkFolder, 'python'), RUBYLIB: join(sdkFolder, 'ruby') } as const;

const defaultLimits = { memoryMb: 512, processes: 32, calls: 200 };

/** Prepares a provider that runs as a program. @throws Error with the reason if it cannot be used. */
export function loadProviderProgram(
  found: FoundPlugin,
  sandbox: Sandbox,
  options: ProgramOptions,
): Promise<Loaded<ProviderContext, ProviderWithAbilities>> {
  return loadProgram(found, sandbox, options, (plugin, context, abilities) => {
    const provider = new ProgramProvider(plugin, context);
    const methods = abilities.map((name) => [name, provider.ability(name)] as const);
    return Object.assign(provider, Object.fromEntries(methods));
  });
}

/** Prepares an automator that runs as a program. @throws Error with the reason if it cannot be used. */
export function loadAutomatorProgram(
  found: FoundPlugin,
  sandbox: Sandbox,
  options: ProgramOptions,
): Promise<Loaded<AutomatorContext, AutomatorWithAbilities>> {
  return loadProgram(found, sandbox, options, (plugin, context, abilities) => {
    const automator = new ProgramAutomator(plugin, context);
    const methods = abilities.map((name) => [name, automator.ability(name)] as const);
    return Object.assign(automator, Object.fromEntries(methods));
  });
}

/** Loads a class once now, so that its faults are reported when the worker starts. */
async function loadProgram<Context extends ProgramContext, Instance>(
  found: FoundPlugin,
  sandbox: Sandbox,
  { environment: own, passed = {}, limits: allLimits, pythonFolder, say = () => undefined }: ProgramOptions,
  create: (plugin: ProgramPlugin, context: Context, abilities: readonly string[]) => Instance,
): Promise<Loaded<Context, Instance>> {
  const { descriptor, command, folder, entry } = found;
  const { memoryMb, processes, calls, timeMs } = mergeLimits(
    descriptor.limits,
    allLimits[descriptor.name] ?? {},
  );
  // A program finds the libraries for plugins unless it has a copy of its own.
  const libraries =
    command === undefined
      ? {}
      : Object.fromEntries(
          Object.entries(libraryFolders).map(([name, library]) => {
            const granted = passed[descriptor.name]?.includes(name) === true ? own[name] : undefined;
            const before = descriptor.environment[name] ?? granted;
            return [name, [before, library].filter((path) => path !== undefined).join(delimiter)];
          }),
        );
  // Do not pass the worker's whole environment, which contains its secrets.
  const environment = childEnvironment({
    from: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', ...own },
    pass: passed[descriptor.name],
    set: {
      ...descriptor.environment,
      ...libraries,
      ...(descriptor.python === undefined || pythonFolder === undefined
        ? {}
        : { HEDDLE_PYTHON: join(pythonFolder, descriptor.name) }),
    },
  });
  const launch = { plugin: descriptor.name, cwd: folder, environment, memoryBytes: memoryMb * 1024 * 1024 };
  const finish = (
    pool: HostPool | OneShotPool,
    abilities: readonly string[],
    protocol?: number,
  ): Loaded<Context, Instance> => {
    const plugin = { descriptor, pool, protocol, timeMs };
    return {
      abilities,
      isProgram: command !== undefined,
      create: (context) => create(plugin, context, abilities),
      reserve: (signal) => pool.reserve(signal),
      close: () => pool.close(),
    };
  };
  if (command !== undefined) {
    const protocol = negotiateProtocol(descriptor.protocol);
    if (protocol === undefined)
      throw new Error('it speaks no version of the protocol that this Heddle speaks');
    const [program = ''] = command;
    const path = environment['PATH'] ?? '';
    if (!isAbsolute(program) && !path.split(delimiter).some((place) => existsSync(join(place, program))))
      throw new Error(`program ${program} is not on PATH (${path})`);
    return finish(
      new OneShotPool(sandbox, { ...launch, command }, processes),
      descriptor.abilities,
      protocol,
    );
  }
  const load = { entry, class: descriptor.class ?? '', clients: clientPlan(descriptor) };
  const pool = new HostPool(sandbox, { ...launch, load, processes, calls, say });
  try {
    return finish(pool, abilitiesOf(found, await pool.load()));
  } catch (error) {
    await pool.close();
    throw error;
  }
}

function mergeLimits(
  ofPlugin: PluginLimits,
  { time, ...ofWorker }: Settings['pluginLimits'][string],
): typeof defaultLimits & { readonly timeMs?: number } {
  const timeMs = time === undefined ? undefined : milliseconds(time);
  const given = Object.entries({ ...ofPlugin, ...ofWorker, timeMs: timeMs ?? ofPlugin.timeMs });
  return { ...defaultLimits, ...Object.fromEntries(given.filter(([, value]) => value !== undefined)) };
}

/** A provider whose methods a program performs. */
class ProgramProvider extends Provider {
  readonly #plugin: ProgramPlugin;
  readonly #context: ProgramContext;

  constructor(plugin: ProgramPlugin, context: ProgramContext) {
    super(context);
    this.#plugin = plugin;
    this.#context = context;
  }

  override create(input: CreateInput): Promise<TaskResult> {
    return this.#act('create', input);
  }

  override confirm(input: MachineInput): Promise<TaskResult> {
    return this.#act('confirm', input);
  }

  override delete(input: MachineInput): Promise<TaskResult> {
    return this.#act('delete', input);
  }

  /** The method of an ability. */
  ability(name: string): (...words: readonly unknown[]) => Promise<unknown> {
    return async (...words) => {
      const input: JsonObject =
        name === 'list'
          ? { tags: plain(words[0]) }
          : name === 'find'
            ? { key: plain(words[0]) }
            : { arguments: plain(words) };
      const answer = await invokeAbility(this.#plugin, this.#context, { name, arguments: words, input });
      return name === 'list' || name === 'find' ? this.#machines(name, answer) : answer;
    };
  }

  #act(name: string, input: CreateInput | MachineInput): Promise<TaskResult> {
    return invokeAction(this.#plugin, this.#context, { name, arguments: [input], input: { ...input } });
  }

  #machines(name: string, answer: unknown): z.output<typeof machinesSchema> {
    const parsed = machinesSchema.safeParse(answer);
    if (parsed.success) return parsed.data;
    const faults = parsed.error.issues
      .slice(0, 5)
      .map(({ path, message }) => `${['result', ...path].join('.')}: ${message}`);
    throw new PluginError(
      'Invalid',
      `plugin ${this.#plugin.descriptor.name} returned no valid list of machines from ${name}: ${faults.join('; ')}`,
    );
  }
}

const machinesSchema = z.array(
  z.object({
    providerid: z.string().min(1).max(512),
    key: z.string().exactOptional(),
    tags: z.record(z.string(), z.string()),
    state: z.enum(['starting', 'running', 'stopped', 'failed', 'deleting', 'gone']),
    createdAt: z.string().exactOptional(),
    address: z.string().exactOptional(),
    created: z.record(z.string(), z.json()).exactOptional(),
  }),
);

/** An automator whose methods a program performs. */
class ProgramAutomator extends UniformAutomator {
  readonly #plugin: ProgramPlugin;
  readonly #context: ProgramContext;

  constructor(plugin: ProgramPlugin, context: ProgramContext & { readonly shell: Shell }) {
    super(context);
    this.#plugin = plugin;
    this.#context = context;
  }

  override bootstrap(sshAuth: SshAuth): Promise<TaskResult> {
    const method = { name: 'bootstrap', arguments: [sshAuth], input: { sshAuth } };
    return invokeAction(this.#plugin, this.#context, method);
  }

  /** The method of an ability. */
  ability(name: string): (input: unknown) => Promise<unknown> {
    return (input) =>
      invokeAbility(this.#plugin, this.#context, {
        name,
        arguments: [input],
        input: { arguments: plain([input]) },
      });
  }

  override carryOut(script: string, data: string, name: string, sshAuth: SshAuth): Promise<TaskResult> {
    // Programs without a JSON parser rely on this order.
    const method = { name, arguments: [sshAuth, script, data], input: { script, data, sshAuth } };
    return invokeAction(this.#plugin, this.#context, method);
  }
}

/** A copy as JSON, without undefined. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}
