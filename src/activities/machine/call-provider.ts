import { activityInfo } from '@temporalio/activity';
import { milliseconds } from '../../model/milliseconds.js';
import { PluginError } from '../../plugins/errors.js';
import type { ImageInput, MachineAbilities } from '../../plugins/contract.js';
import { callProvider, openTarget, type ProviderCall } from '../provider/provider-call.js';
import type { MachineCall } from '../task-call.js';

export interface OpenProvider extends ProviderCall {
  readonly source: (method: string) => { readonly plugin: string; readonly method: string };
  /** Reports progress of the plugin. */
  readonly progress: (text: string) => void;
}

/** How long before its deadline an attempt ends by itself, in ms. */
const lastWordsMs = 2_000;

/**
 * Calls the machine's provider. The call ends with the attempt, and when the plugin reports no new progress
 * for longer than the action's row allows.
 */
export async function askProvider<Value>(
  call: MachineCall,
  ask: (open: OpenProvider) => Promise<Value>,
): Promise<Value> {
  const { parts, request, attempt, row, action } = call;
  // An image has no user, so it has no user's fields.
  const account = row.isImageOnly === true ? { name: request.provider.name } : request.provider;
  const target = await openTarget(parts, request, account, attempt);
  const name = target.plugin.descriptor.name;
  const noProgressMs = progressLimit(call);
  const stall = createStall(noProgressMs);
  const progress = (text: string): void => {
    if (!stall.report(text)) return;
    attempt.at(text.slice(0, 200));
    attempt.log.info(text.slice(0, 2_000));
  };
  const deadlineMs = Math.max(1_000, activityInfo().startToCloseTimeoutMs - lastWordsMs);
  try {
    return await callProvider(parts, call, target, { deadlineMs, signals: [stall.signal] }, async (open) => {
      stall.start();
      return ask({ ...open, source: (method) => ({ plugin: name, method }), progress });
    });
  } catch (error) {
    if (!stall.signal.aborted || attempt.signal.aborted || attempt.detach.aborted) throw error;
    throw new PluginError(
      'UnknownOutcome',
      `${action} reported no progress for ${(noProgressMs ?? 0) / 1_000} s; the last report was: ${stall.last() ?? 'none'}`,
      { cause: error },
    );
  } finally {
    stall.end();
  }
}

/**
 * The account may set it for images that are written or copied onto machines, not for captures and uploads.
 */
function progressLimit({ parts, request, row, action }: MachineCall): number | undefined {
  const { progressWithin } = parts.providers[request.provider.name]?.limits ?? {};
  const applies = action === 'LOAD' || action === 'RETRIEVE_IMAGE';
  return applies && progressWithin !== undefined ? milliseconds(progressWithin) : row.noProgressMs;
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
      `provider type ${plugin.descriptor.name} has no ${name}; run 'heddle plugins' to see what it supports`,
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
  if (image === undefined) throw new PluginError('Invalid', 'the task has no image');
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
  start(): void;
  /** False if the report says nothing new. */
  report(text: string): boolean;
  last(): string | undefined;
  end(): void;
}

function createStall(limitMs: number | undefined): Stall {
  const cut = new AbortController();
  let last: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    clearTimeout(timer);
    if (limitMs !== undefined) timer = setTimeout(() => cut.abort(new Error('no progress')), limitMs);
  };
  return {
    signal: cut.signal,
    start,
    report(text) {
      if (text === last) return false;
      last = text;
      start();
      return true;
    },
    last: () => last,
    end: () => clearTimeout(timer),
  };
}
