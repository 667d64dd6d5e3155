import { randomBytes } from 'node:crypto';
import { confirmMachine } from '../provider/confirm-machine.js';
import { askProvider } from './call-provider.js';
import { enrolMachine } from './enrol-machine.js';
import { eraseDisks } from './erase-disks.js';
import { recordVerbs } from './image-record.js';
import { nodeStatus } from './node-status.js';
import { byWay, currentImageOfPlugin, statusByPlugin, taintByPlugin } from './plugin-status.js';
import type { MachineHandler } from '../task-call.js';
import { releasePermit, acquirePermit } from './permits.js';

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
  ACQUIRE_PERMIT: (call) => acquirePermit(call, call.parts.loadsAtOnce, 'loads and captures'),
  RELEASE_PERMIT: releasePermit,
} as const satisfies Readonly<Record<string, MachineHandler>>;
