import { randomBytes } from 'node:crypto';
import { confirmMachine } from '../provider/confirm-machine.js';
import { askProvider, requireAbility } from './call-provider.js';
import { eraseDisks } from './erase-disks.js';
import { recordVerbs } from './image-record.js';
import { nodeStatus } from './node-status.js';
import { byWay, currentImageOfPlugin, statusByPlugin, taintByPlugin } from './plugin-status.js';
import type { MachineHandler } from '../task-call.js';
import { releasePermit, acquirePermit } from './permits.js';
import { PluginError } from '../../plugins/errors.js';
import { acceptFromProvider } from '../provider/references.js';
import { readPower } from '../../schema/machine-answer.js';
import { refuseFailure } from '../results.js';

/**
 * ENROL: a machine that exists already is registered when its controller accepts the
 * credentials and reports the power. It may be off, or have no system.
 */
const enrolMachine: MachineHandler = (call) =>
  askProvider(call, async (open) => {
    const { plugin, provider, machine, request } = open;
    const power = readPower(await requireAbility(open, 'powerStatus')(machine), open.source('powerStatus'));
    if (power.power === 'unknown')
      throw new PluginError('Retryable', `its power is unknown: ${power.why ?? 'no reason was given'}`);
    const taken = await acceptFromProvider(
      open.parts,
      request.provider.name,
      await provider.confirm(machine),
      { plugin: plugin.descriptor, action: 'CONFIRM', config: request.config },
    );
    refuseFailure(plugin.descriptor.name, 'Invalid', taken);
    return { payload: taken.result, power };
  });

/** What the engine does for a machine without an ability of a plugin. */
export const engineVerbs = {
  NODE_STATUS: byWay({ ssh: nodeStatus, plugin: statusByPlugin }),
  /** One probe, as in CONFIRM: the provider reports the address, and the machine answers there. */
  ENROL: enrolMachine,
  REACH: (call) =>
    askProvider(call, async (open) => {
      const { request } = call;
      const never = new AbortController().signal;
      // A new image may bring another host key; unless the provider reports it, it is pinned again.
      const { 'ssh-host-key': _old, ...config } = request.config;
      const asked = request.order.fresh === true ? { ...request, config } : request;
      const isFresh = request.order.fresh === true;
      return { payload: await confirmMachine({ ...open, request: asked }, never, { isFresh }) };
    }),
  ERASE: eraseDisks,
  GET_CURRENT_IMAGE: byWay({ ssh: recordVerbs.GET_CURRENT_IMAGE, plugin: currentImageOfPlugin }),
  MARK_DISK: recordVerbs.MARK_DISK,
  CHECK_MARK: recordVerbs.CHECK_MARK,
  TAINT: byWay({ ssh: recordVerbs.TAINT, plugin: taintByPlugin }),
  MAKE_PASSWORD: async () => ({ password: randomBytes(18).toString('base64url') }),
  ACQUIRE_PERMIT: (call) => acquirePermit(call, call.parts.settings.loadsAtOnce, 'loads and captures'),
  RELEASE_PERMIT: releasePermit,
} as const satisfies Readonly<Record<string, MachineHandler>>;
