import { setTimeout as pause } from 'node:timers/promises';
import { machineKey, tagNames } from '../../model/names.js';
import type { ImageInput } from '../../plugins/contract.js';
import { PluginError } from '../../plugins/errors.js';
import {
  readHardware,
  readKnowledge,
  readLoad,
  readOutcome,
  readPower,
  readSize,
} from '../../schema/machine-answer.js';
import { insist, settleAnswer, whyOf } from './outcomes.js';
import { askProvider, imageInput, requireAbility, type OpenProvider } from './call-provider.js';
import { probeSsh } from './probe-ssh.js';
import type { MachineHandler, MachineCall } from '../task-call.js';

/** Machine actions of the provider. */
export const providerVerbs = {
  POWER_STATUS: (call) =>
    askProvider(call, async (open) => {
      const ask = requireAbility(open, 'powerStatus');
      try {
        return { power: readPower(await ask(open.machine), open.source('powerStatus')) };
      } catch (error) {
        if (error instanceof PluginError && (error.kind === 'Invalid' || error.kind === 'Auth')) throw error;
        return { power: { power: 'unknown' as const, why: whyOf(error, call.attempt.signal) } };
      }
    }),
  READ_HARDWARE: (call) =>
    askProvider(call, async (open) => {
      const ask = requireAbility(open, 'hardware');
      return { hardware: readHardware(await ask(open.machine), open.source('hardware')) };
    }),
  POWER_ON: (call) => verb(call, 'powerOn'),
  POWER_OFF: async (call) => {
    await verb(call, 'powerOff').catch((error: unknown) => {
      throw doubt(call, error);
    });
    await refuteOff(call);
    return {};
  },
  POWER_RESET: (call) =>
    askProvider(call, async (open) => {
      await resetPower(call, open);
      return {};
    }),
  SET_BOOT: (call) =>
    askProvider(call, async (open) => {
      const set = requireAbility(open, 'setBoot');
      insist(
        call.action,
        readOutcome(await set(open.machine, call.request.order.boot ?? 'disk'), open.source('setBoot')),
      );
      return {};
    }),
  BOOT_ONCE: (call) =>
    askProvider(call, async (open) => {
      const { device } = call.request.order;
      if (device === undefined) throw new PluginError('Invalid', 'the task has no boot device');
      const boot = requireAbility(open, 'bootOnce');
      insist(call.action, readOutcome(await boot(open.machine, device), open.source('bootOnce')));
      return {};
    }),
  IMAGE_EXISTS: (call) =>
    askProvider(call, async (open) => {
      const ask = requireAbility(open, 'imageExists');
      const { image } = imageInput(call, open);
      const asked = await ask(imageInput(call, open)).catch((error: unknown) => ({
        is: 'unknown',
        why: whyOf(error, call.attempt.signal),
      }));
      return {
        exists: settleAnswer(
          `whether image ${image.name}@${image.revision} exists`,
          readKnowledge(asked, open.source('imageExists')),
          call.attempt.number,
        ),
      };
    }),
  GET_IMAGE_SIZE: (call) =>
    askProvider(call, async (open) => {
      const ask = requireAbility(open, 'imageSize');
      const { sizeMb, why } = readSize(await ask(imageInput(call, open)), open.source('imageSize'));
      if (sizeMb === undefined)
        throw new PluginError(
          'Retryable',
          `the size of the image is unknown: ${why ?? 'no reason was given'}`,
        );
      return { sizeMb };
    }),
  RETRIEVE_IMAGE: (call) => imageVerb(call, 'retrieveImage'),
  VERIFY_IMAGE: (call) => imageVerb(call, 'verifyImage'),
  LOAD: async (call) => {
    const { untouched, ...outcome } = await askProvider(call, async (open) =>
      readLoad(await requireAbility(open, 'load')(imageInput(call, open)), open.source('load')),
    ).catch((error: unknown) => {
      throw doubt(call, error);
    });
    insist(call.action, outcome);
    return untouched === undefined ? {} : { untouched };
  },
  CAPTURE: (call) => imageVerb(call, 'capture', { imageTags: captureTags(call) }),
  END_RUN: (call) => verb(call, 'endRun'),
  UNLOAD: (call) => verb(call, 'unload'),
} as const satisfies Readonly<Record<string, MachineHandler>>;

/**
 * An earlier attempt may have written, or switched off. Then only the provider's own answer says that
 * the machine is unchanged, and not an error such as a machine that is missing in heddle.yaml now.
 */
function doubt({ attempt }: MachineCall, error: unknown): unknown {
  const mayPass = !(error instanceof PluginError) || error.kind === 'Retryable' || error.kind === 'NotReady';
  return attempt.isFirst || mayPass
    ? error
    : new PluginError('UnknownOutcome', error.message, { cause: error });
}

/** How long a machine that is off is given to answer, in ms. */
const refuteMs = 3_000;

/**
 * A controller may report "off" for a machine that runs: its disk must not be written then.
 * @throws PluginError Retryable if the machine's system answers.
 */
async function refuteOff(call: MachineCall): Promise<void> {
  if (typeof call.request.config['ipaddress'] !== 'string') return;
  const { answers } = await probeSsh(call, AbortSignal.timeout(refuteMs));
  if (answers)
    insist(call.action, {
      answer: 'unknown',
      why: 'it is reported as off, but SSH answers at its address; check which machine its controller switches and which machine has the address',
    });
}

function verb(
  call: MachineCall,
  method: 'powerOn' | 'powerOff' | 'endRun' | 'unload',
): ReturnType<MachineHandler> {
  return askProvider(call, async (open) => {
    const carryOut = requireAbility(open, method);
    insist(call.action, readOutcome(await carryOut(open.machine), open.source(method)));
    return {};
  });
}

function imageVerb(
  call: MachineCall,
  method: 'capture' | 'retrieveImage' | 'verifyImage',
  more: Pick<ImageInput, 'imageTags'> = {},
): ReturnType<MachineHandler> {
  return askProvider(call, async (open) => {
    const carryOut = requireAbility(open, method);
    insist(
      call.action,
      readOutcome(await carryOut({ ...imageInput(call, open), ...more }), open.source(method)),
    );
    return {};
  });
}

/** What the sweep finds it by. Without an image that it belongs to, it is a person's. */
function captureTags({
  parts,
  request: {
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    order: { belongs },
  },
}: MachineCall): Readonly<Record<string, string>> {
  const installation = { [tagNames.installation]: parts.installation };
  if (belongs !== undefined)
    return { ...installation, [tagNames.key]: belongs.key, [tagNames.cluster]: belongs.cluster };
  return {
    ...installation,
    [tagNames.key]: machineKey(clusterUid, nodeId, incarnation),
    [tagNames.cluster]: clusterId,
    [tagNames.captured]: 'by request',
  };
}

/** By the provider's own command where it has one, else off and on. */
export async function resetPower(call: MachineCall, open: OpenProvider): Promise<void> {
  const { abilities } = open.plugin;
  if (abilities.includes('powerReset')) {
    insist(
      'the reset',
      readOutcome(await requireAbility(open, 'powerReset')(open.machine), open.source('powerReset')),
    );
    return;
  }
  insist(
    'switching off',
    readOutcome(await requireAbility(open, 'powerOff')(open.machine), open.source('powerOff')),
  );
  await pause(100, undefined, { signal: call.attempt.signal });
  insist(
    'switching on',
    readOutcome(await requireAbility(open, 'powerOn')(open.machine), open.source('powerOn')),
  );
}
