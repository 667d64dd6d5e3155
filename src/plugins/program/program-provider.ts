import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import { Provider, type CreateInput, type Machine, type MachineInput, type TaskResult } from '../contract.js';
import { PluginError } from '../errors.js';
import { invokeAbility, invokeAction, type Invocation, type ProgramContext } from './invoke.js';

const machineSchema = z.object({
  providerid: z.string().min(1).max(512),
  key: z.string().exactOptional(),
  tags: z.record(z.string(), z.string()),
  state: z.enum(['starting', 'running', 'stopped', 'gone', 'failed']),
  createdAt: z.string().exactOptional(),
  address: z.string().exactOptional(),
  created: z.record(z.string(), z.json()).exactOptional(),
});
const machinesSchema = z.array(machineSchema);

/** A provider whose methods are carried out by a program. */
export class ProgramProvider extends Provider {
  readonly #invocation: Invocation;
  readonly #context: ProgramContext;

  constructor(invocation: Invocation, context: ProgramContext) {
    super(context);
    this.#invocation = invocation;
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

  /** The method of an ability, to be put on the object only where the plugin has it. */
  ability(name: string): (...words: readonly unknown[]) => Promise<unknown> {
    return async (...words) => {
      const [first] = words;
      const input: JsonObject =
        name === 'list'
          ? { tags: plain(first) }
          : name === 'find'
            ? { key: plain(first) }
            : { arguments: plain(words) };
      const answer = await invokeAbility(this.#invocation, this.#context, { name, arguments: words, input });
      return name === 'list' || name === 'find' ? this.#machines(name, answer) : answer;
    };
  }

  #act(name: string, input: CreateInput | MachineInput): Promise<TaskResult> {
    return invokeAction(this.#invocation, this.#context, { name, arguments: [input], input: { ...input } });
  }

  #machines(name: string, answer: unknown): readonly Machine[] {
    const parsed = machinesSchema.safeParse(answer);
    if (parsed.success) return parsed.data;
    const faults = parsed.error.issues
      .slice(0, 5)
      .map(({ path, message }) => `${['result', ...path].join('.')}: ${message}`);
    throw new PluginError(
      'Invalid',
      `plugin ${this.#invocation.descriptor.name} returned no valid list of machines from ${name}: ${faults.join('; ')}`,
    );
  }
}

function plain(value: unknown): JsonObject[string] {
  return JSON.parse(JSON.stringify(value ?? null)) as JsonObject[string];
}
