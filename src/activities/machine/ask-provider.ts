import { activityInfo } from '@temporalio/activity';
import { anySignal } from '../../model/signals.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import type { ImageInput, MachineAbilities, MachineInput } from '../../plugins/contract.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../../plugins/registry.js';
import { openAccount } from '../provider/account.js';
import { admit } from '../provider/admission.js';
import { machineInput } from '../provider/machine-input.js';
import { resolveOwnSecret } from '../provider/own-secret.js';
import type { MachineCall } from '../task-call.js';

export interface OpenProvider {
  readonly plugin: RegisteredProvider;
  readonly provider: ProviderWithAbilities;
  readonly machine: MachineInput;
  readonly source: (method: string) => { readonly plugin: string; readonly method: string };
  /** What the plugin tells of how far it is. */
  readonly progress: (text: string) => void;
}

/** How long before the end of its time an attempt ends by itself, in ms. */
const lastWordsMs = 2_000;

/**
 * Opens the machine's provider for one call. The call ends with the attempt, and when the plugin told nothing
 * new for longer than the action's row allows.
 */
export async function askProvider<Value>(
  call: MachineCall,
  ask: (open: OpenProvider) => Promise<Value>,
): Promise<Value> {
  const { parts, request, attempt, row } = call;
  // What is about an image alone has no user behind it.
  const account = row.isImageOnly === true ? { name: request.provider.name } : request.provider;
  const { plugin, fields } = await openAccount(parts, account, attempt);
  const { nodeId, incarnation, clusterId, clusterUid, config } = request;
  const machine = machineInput(
    parts.installation,
    clusterId,
    { nodeId, incarnation, keyUid: clusterUid, config },
    fields,
  );
  const deadline = AbortSignal.timeout(Math.max(1_000, activityInfo().startToCloseTimeoutMs - lastWordsMs));
  const admission = await admit(parts, plugin, request.provider.name, attempt);
  const { turn, reservation } = admission;
  const stall = createStall(row.noProgressMs);
  const signal = anySignal([
    attempt.signal,
    attempt.detach,
    deadline,
    stall.signal,
    ...(turn === undefined ? [] : [turn.lost]),
  ]);
  const provider = plugin.create({
    task: { ...call.task, provider: { ...call.task.provider, type: plugin.descriptor.name, fields } },
    log: attempt.log,
    fields,
    signal,
    detach: attempt.detach,
    claims: parts.claims(request.provider.name),
    calls: admission.calls(signal),
    resolveSecret: (reference) => resolveOwnSecret(parts, request, attempt, reference),
    reservation,
  });
  const name = plugin.descriptor.name;
  attempt.at(`${call.action} by ${name}`);
  const progress = (text: string): void => {
    if (!stall.tell(text)) return;
    attempt.at(text.slice(0, 200));
    attempt.log.info(text.slice(0, 2_000));
  };
  try {
    return await ask({ plugin, provider, machine, source: (method) => ({ plugin: name, method }), progress });
  } catch (error) {
    if (attempt.signal.aborted || attempt.detach.aborted) throw error;
    if (stall.signal.aborted)
      throw new PluginError(
        'UnknownOutcome',
        `${call.action} told nothing new for ${row.noProgressMs} ms; the last was: ${stall.last() ?? 'nothing'}`,
        { cause: error },
      );
    if (deadline.aborted && !isPluginError(error))
      throw new PluginError('Retryable', `${call.action} by ${name} did not end within its time`, {
        cause: error,
      });
    throw error;
  } finally {
    stall.end();
    await admission.release();
  }
}

type Methods = Required<MachineAbilities>;

/**
 * The method, to be called and its answer to be checked.
 * @throws PluginError Invalid where the provider type cannot do it.
 */
export function requireAbility<Name extends keyof Methods>(
  { plugin, provider }: OpenProvider,
  name: Name,
): (...words: Parameters<Methods[Name]>) => Promise<unknown> {
  const method: unknown = provider[name];
  if (!plugin.abilities.includes(name) || typeof method !== 'function') {
    throw new PluginError(
      'Invalid',
      `provider type ${plugin.descriptor.name} has no ${name}; 'heddle plugins' shows what it can do`,
    );
  }
  return async (...words) => Reflect.apply(method, provider, words) as unknown;
}

/**
 * What load, capture and questions about images are about.
 * @throws PluginError Invalid where the task names no image.
 */
export function imageInput({ parts, request }: MachineCall, { machine, progress }: OpenProvider): ImageInput {
  const { image, token } = request.order;
  if (image === undefined) throw new PluginError('Invalid', 'the task names no image');
  const mapped = parts.providers[request.provider.name]?.images?.[image.name];
  return {
    ...machine,
    image,
    providerImage: mapped ?? `${image.name}@${image.revision}`,
    token: token ?? request.taskId,
    progress,
  };
}

interface Stall {
  readonly signal: AbortSignal;
  /** False where it is nothing new. */
  tell(text: string): boolean;
  last(): string | undefined;
  end(): void;
}

function createStall(limitMs: number | undefined): Stall {
  const cut = new AbortController();
  let last: string | undefined;
  const arm = (): NodeJS.Timeout | undefined =>
    limitMs === undefined ? undefined : setTimeout(() => cut.abort(new Error('no progress')), limitMs);
  let timer = arm();
  return {
    signal: cut.signal,
    tell(text) {
      if (text === last) return false;
      last = text;
      clearTimeout(timer);
      timer = arm();
      return true;
    },
    last: () => last,
    end: () => clearTimeout(timer),
  };
}
