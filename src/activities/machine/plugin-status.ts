import { anySignal } from '../../model/signals.js';
import type { CurrentReading, Known } from '../../model/machine/answer.js';
import { recordKeys, tags, type CurrentImage } from '../../model/machine/current-image.js';
import type { Evidence } from '../../model/machine/evidence.js';
import { decideNodeStatus } from '../../model/machine/node-status.js';
import { PluginError } from '../../plugins/errors.js';
import { readKnowledge, readOutcome } from '../../schema/machine-answer.js';
import { currentImageByPlugin, isReachedByPlugin, reachByPlugin } from '../provider/reached-by-plugin.js';
import { insist, whyOf } from './outcomes.js';
import { askProvider, imageInput, requireAbility, type OpenProvider } from './call-provider.js';
import { viewOf } from './image-record.js';
import type { MachineHandler, MachineCall } from '../task-call.js';
import { askPower } from './node-status.js';

/**
 * The handler of an action that asks the resource itself: over SSH, or through its plugin where that is the
 * way to it.
 */
export function byWay({
  ssh,
  plugin,
}: {
  readonly ssh: MachineHandler;
  readonly plugin: MachineHandler;
}): MachineHandler {
  return (call) =>
    isReachedByPlugin(call.parts.registry.provider(call.request.provider.type)) ? plugin(call) : ssh(call);
}

/**
 * NODE_STATUS of a resource without log-in: `ping` is whether it takes orders, and `ssh` is not
 * known.
 */
export const statusByPlugin: MachineHandler = async (call) => {
  const notes: string[] = [];
  const { image } = call.request.order;
  const seen = await askPower(call, notes);
  const reached = await known(
    call,
    notes,
    (open) => reachByPlugin(open.plugin, open.provider, open.machine),
    { is: 'unknown' as const },
  );
  if (reached.why !== undefined) notes.push(reached.why);
  const current =
    reached.is === 'yes'
      ? await known<CurrentReading>(
          call,
          notes,
          (open) => currentImageByPlugin(open.plugin, open.provider, open.machine),
          { is: 'unknown' },
        )
      : { is: 'unknown' as const };
  if (current.is === 'unknown' && current.why !== undefined) notes.push(current.why);
  const evidence: Evidence = {
    by: 'plugin',
    ping: reached.is,
    ssh: 'unknown',
    ...seen,
    record: readingOf(current),
    notes,
  };
  const first = decideNodeStatus(evidence, image);
  if (first.status !== 'READY') return { status: first };
  // Asked last, for it is the costliest.
  const check = await askCheck(call, notes);
  return { status: decideNodeStatus({ ...evidence, ...(check === undefined ? {} : { check }) }, image) };
};

/** What the resource says that it has. @throws PluginError Retryable where it does not say. */
export const currentImageOfPlugin: MachineHandler = (call) =>
  askProvider(call, async (open) => {
    call.attempt.at('asks which image it has');
    const current = await currentImageByPlugin(open.plugin, open.provider, open.machine);
    if (current.is === 'unknown')
      throw new PluginError('Retryable', `its image is unknown: ${current.why ?? 'no reason was given'}`);
    return { record: { ...viewOf(current.is === 'no' ? undefined : recordOf(current)), by: 'plugin' } };
  });

export const taintByPlugin: MachineHandler = (call) =>
  askProvider(call, async (open) => {
    const { reason = 'no reason given', at } = call.request.order;
    const note = requireAbility(open, 'taint');
    insist(call.action, readOutcome(await note(open.machine, { reason, at }), open.source('taint')));
    return {};
  });

async function askCheck(call: MachineCall, notes: string[]): Promise<Known | undefined> {
  const { image, unchecked } = call.request.order;
  if (image === undefined || unchecked === true) return undefined;
  const check = await known(
    call,
    notes,
    async (open) => {
      if (!open.plugin.abilities.includes('isAsImage')) return undefined;
      const answer = await requireAbility(open, 'isAsImage')(imageInput(call, open));
      return answer === undefined ? undefined : readKnowledge(answer, open.source('isAsImage'));
    },
    { is: 'unknown' as const },
  );
  if (check?.why !== undefined) notes.push(check.why);
  return check?.is;
}

/** What cannot be asked is unknown, and why is noted. */
async function known<Value>(
  call: MachineCall,
  notes: string[],
  ask: (open: OpenProvider) => Promise<Value>,
  unknown: NoInfer<Value>,
): Promise<Value> {
  try {
    return await askProvider(call, ask);
  } catch (error) {
    notes.push(whyOf(error, anySignal([call.attempt.signal, call.attempt.detach])));
    return unknown;
  }
}

function readingOf(current: CurrentReading): Evidence['record'] {
  if (current.is === 'yes') return { is: 'read', record: recordOf(current) };
  return { is: current.is === 'no' ? 'missing' : 'unknown' };
}

function recordOf({ image, tainted = [] }: Extract<CurrentReading, { readonly is: 'yes' }>): CurrentImage {
  return {
    name: image.name,
    values: {
      [recordKeys.revision]: image.revision,
      ...(tainted.length === 0 ? {} : { [tags.tainted]: tainted.join(', ') }),
    },
  };
}
