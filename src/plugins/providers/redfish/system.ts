import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { PluginError, type Hardware, type Outcome, type PowerReading } from '../../contract.js';
import type { CommandResult } from '../../bare-metal/index.js';
import type { HttpResponse } from '../../provider-base/http.js';
import { findConsole, type SerialConsole } from './console.js';
import { readHardware } from './hardware.js';
import type { Controller, RedfishHttp } from './http.js';

const link = z.object({ '@odata.id': z.string() });
const collectionSchema = z.object({ Members: z.array(link) });
const systemSchema = z.object({
  '@odata.id': z.string().optional(),
  PowerState: z.string().nullish(),
  Boot: z
    .object({
      BootSourceOverrideTarget: z.string().nullish(),
      BootSourceOverrideEnabled: z.string().nullish(),
      'BootSourceOverrideTarget@Redfish.AllowableValues': z.array(z.string()),
    })
    .partial()
    .optional(),
  Actions: z
    .object({
      '#ComputerSystem.Reset': z
        .object({
          target: z.string().optional(),
          'ResetType@Redfish.AllowableValues': z.array(z.string()).optional(),
        })
        .optional(),
    })
    .optional(),
});
type System = z.output<typeof systemSchema>;
const taskSchema = z.object({ TaskState: z.string().optional(), TaskStatus: z.string().optional() });
const errorSchema = z.object({
  error: z.object({ code: z.string().optional(), message: z.string().optional() }),
});

const endedStates = ['Completed', 'Killed', 'Exception', 'Cancelled', 'Canceled'];
const taskEveryMs = 500;

/** One computer system behind a Redfish service. */
export class RedfishSystem {
  readonly #http: RedfishHttp;
  readonly #controller: Controller;
  readonly #signal: AbortSignal;

  constructor(http: RedfishHttp, controller: Controller, signal: AbortSignal) {
    this.#http = http;
    this.#controller = controller;
    this.#signal = signal;
  }

  async power(): Promise<PowerReading> {
    const { PowerState } = (await this.#read()).system;
    if (PowerState === 'On') return { power: 'on' };
    if (PowerState === 'Off') return { power: 'off' };
    return { power: 'unknown', why: `the controller reports its power as ${PowerState ?? 'nothing'}` };
  }

  /**
   * The first of these types that the controller allows; done only when it has accepted it and finished its
   * task.
   */
  async reset(types: readonly string[]): Promise<CommandResult> {
    const { system, path } = await this.#read();
    const action = system.Actions?.['#ComputerSystem.Reset'];
    const allowed = action?.['ResetType@Redfish.AllowableValues'];
    const type = types.find((one) => allowed === undefined || allowed.includes(one));
    if (type === undefined)
      return {
        accepted: false,
        why: `the controller allows none of ${types.join(', ')}, only ${allowed?.join(', ')}`,
      };
    const answer = await this.#http.call('POST', action?.target ?? `${path}/Actions/ComputerSystem.Reset`, {
      ResetType: type,
    });
    if (answer.status < 300) return this.#follow(answer);
    // Busy or broken for now; whether anything happened shows in the power.
    if (answer.status === 429 || answer.status === 503 || answer.status === 409)
      throw new PluginError('Retryable', `${type} was postponed: ${describeRefusal(answer)}`);
    return { accepted: false, why: `${type} was refused: ${describeRefusal(answer)}` };
  }

  async setBoot(
    target: 'Pxe' | 'Hdd' | 'Cd' | 'BiosSetup',
    enabled: 'Once' | 'Continuous',
  ): Promise<Outcome> {
    const { system, path, etag } = await this.#read();
    const allowed = system.Boot?.['BootSourceOverrideTarget@Redfish.AllowableValues'];
    if (allowed?.includes(target) === false)
      return {
        answer: 'not done',
        why: `the controller does not boot from ${target}, only from ${allowed.join(', ')}`,
      };
    const answer = await this.#http.call(
      'PATCH',
      path,
      { Boot: { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } },
      etag === undefined ? {} : { 'if-match': etag },
    );
    if (answer.status === 202) {
      const { accepted } = await this.#follow(answer);
      return { answer: accepted ? 'done' : 'unknown', ...(accepted ? {} : { why: 'its task failed' }) };
    }
    if (answer.status < 300) return { answer: 'done' };
    return {
      answer: answer.status >= 500 || answer.status === 412 || answer.status === 409 ? 'unknown' : 'not done',
      why: `the boot source was refused: ${describeRefusal(answer)}`,
    };
  }

  async bootTarget(): Promise<string | undefined> {
    return (await this.#read()).system.Boot?.BootSourceOverrideTarget?.toLowerCase();
  }

  async console(): Promise<SerialConsole> {
    return findConsole(this.#http, (await this.#read()).path, this.#controller);
  }

  async hardware(): Promise<Hardware> {
    return readHardware(this.#http, (await this.#read()).path);
  }

  async #read(): Promise<{
    readonly system: System;
    readonly path: string;
    readonly etag: string | undefined;
  }> {
    const asked = await this.#path();
    const answer = await this.#http.call('GET', asked);
    if (answer.status === 404)
      throw new PluginError(
        'Invalid',
        `system ${asked} does not exist at the controller ${this.#controller.url}`,
      );
    if (answer.status >= 300) throw new PluginError('Retryable', `GET ${asked}: ${describeRefusal(answer)}`);
    const system = parse(systemSchema, answer, asked);
    return { system, path: system['@odata.id'] ?? asked, etag: answer.headers.etag };
  }

  async #path(): Promise<string> {
    const { system } = this.#controller;
    if (system !== undefined)
      return system.startsWith('/') ? system : `/redfish/v1/Systems/${encodeURIComponent(system)}`;
    const path = '/redfish/v1/Systems';
    const answer = await this.#http.call('GET', path);
    if (answer.status >= 300) throw new PluginError('Retryable', `GET ${path}: ${describeRefusal(answer)}`);
    const { Members } = parse(collectionSchema, answer, path);
    const [only] = Members;
    if (only !== undefined && Members.length === 1) return only['@odata.id'];
    throw new PluginError(
      'Invalid',
      `the controller at ${this.#controller.url} has ${Members.length} systems; set one in heddle.yaml: ${Members.map((member) => member['@odata.id']).join(', ')}`,
    );
  }

  /** Waits for the task that the controller started, if any. A task that it no longer knows has ended. */
  async #follow({ status, headers: { location } }: HttpResponse): Promise<CommandResult> {
    if (status !== 202 || location === undefined) return { accepted: true };
    for (;;) {
      const answer = await this.#http.call('GET', location);
      if (answer.status === 404 || answer.status === 204) return { accepted: true };
      if (answer.status === 200) {
        const { TaskState, TaskStatus } = parse(taskSchema, answer, location);
        if (TaskState === undefined || TaskState === 'Completed')
          return TaskStatus === 'Critical'
            ? { accepted: false, why: 'its task ended critically' }
            : { accepted: true };
        if (endedStates.includes(TaskState))
          return { accepted: false, why: `its task ended as ${TaskState}` };
      } else if (answer.status !== 202) {
        throw new PluginError('Retryable', `GET ${location}: ${describeRefusal(answer)}`);
      }
      await pause(taskEveryMs, undefined, { signal: this.#signal });
    }
  }
}

function parse<Schema extends z.ZodType>(
  schema: Schema,
  { json }: HttpResponse,
  what: string,
): z.output<Schema> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Retryable',
    `GET ${what} returned a response that is not Redfish: ${parsed.error.issues
      .slice(0, 3)
      .map(({ path, message }) => `${path.map(String).join('.')}: ${message}`)
      .join('; ')}`,
  );
}

function describeRefusal({ status, json }: HttpResponse): string {
  const parsed = errorSchema.safeParse(json);
  return `${status}${parsed.success ? ` ${parsed.data.error.message ?? parsed.data.error.code ?? ''}`.slice(0, 300) : ''}`;
}
