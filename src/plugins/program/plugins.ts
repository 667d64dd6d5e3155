import { z } from 'zod';
import type { Json, JsonObject } from '../../model/json.js';
import {
  Provider,
  type CreateInput,
  type MachineInput,
  type Shell,
  type SshAuth,
  type TaskResult,
} from '../contract.js';
import { PluginError } from '../errors.js';
import { UniformAutomator } from '../uniform-automator.js';
import { invokeAbility, invokeAction, type ProgramContext, type ProgramPlugin } from './invoke.js';

/** A provider whose methods are carried out by a program. */
export class ProgramProvider extends Provider {
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
    state: z.enum(['starting', 'running', 'stopped', 'gone', 'failed']),
    createdAt: z.string().exactOptional(),
    address: z.string().exactOptional(),
    created: z.record(z.string(), z.json()).exactOptional(),
  }),
);

/** An automator whose methods are carried out by a program. */
export class ProgramAutomator extends UniformAutomator {
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

  override carryOut(script: string, data: string, name: string, sshAuth: SshAuth): Promise<TaskResult> {
    // Programs that cannot read JSON rely on this order.
    const method = { name, arguments: [sshAuth, script, data], input: { script, data, sshAuth } };
    return invokeAction(this.#plugin, this.#context, method);
  }
}

/** A copy as JSON, without undefined. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}
