import { slotsOf } from '../../model/names.js';
import { PluginError } from '../../plugins/errors.js';
import { confirmMachine } from '../confirm-machine.js';
import { askProvider } from './ask-provider.js';
import { nodeStatus } from './node-status.js';
import type { Handler, MachineCall } from './machine-parts.js';

/** What the engine does for a machine without anybody's ability. */
export const engineVerbs = {
  NODE_STATUS: nodeStatus,
  /** One look, as CONFIRM takes it: the provider tells where the machine is, and SSH answers there. */
  REACH: (call) => askProvider(call, async ({ plugin, provider, machine }) => {
    const { parts, request, attempt } = call;
    const never = new AbortController().signal;
    // A new image may bring a host key of its own; unless the provider tells which, it is pinned anew.
    const { 'ssh-host-key': _old, ...config } = request.config;
    const asked = request.order.fresh === true ? { ...request, config } : request;
    return { payload: await confirmMachine(parts, { plugin, provider, request: asked, attempt, machine, absences: parts.absences, runs: parts.runs }, never) };
  }),
  /** Waiting for a place holds no worker: each attempt asks once. */
  TAKE_SLOT: async (call) => {
    const { slots, places } = slotsFor(call);
    call.attempt.at('asks for a place');
    const taken = await slots.take(ownerOf(call), Array.from({ length: places }, (_, index) => String(index + 1)));
    if (taken === undefined) {
      throw new PluginError('NotReady', `all ${places} places for loads and captures of site ${call.request.order.slots?.site} are taken (${Object.values(await slots.held()).join(', ')})`, { retryAfterMs: 1_000 });
    }
    return {};
  },
  GIVE_SLOT: async (call) => {
    await slotsFor(call).slots.release(ownerOf(call));
    return {};
  },
} as const satisfies Readonly<Record<string, Handler>>;

function slotsFor({ parts, request }: MachineCall): { readonly slots: ReturnType<MachineCall['parts']['claims']>; readonly places: number } {
  const { slots } = request.order;
  if (slots === undefined) throw new PluginError('Invalid', 'the task names no site whose places it asks for');
  return { slots: parts.claims(slotsOf(slots.site)), places: slots.places };
}

function ownerOf({ request }: MachineCall): string {
  return `${request.clusterId}`;
}
