import type { JsonObject } from '../../model/json.js';
import type { TaskOutcome } from '../../model/node/task-request.js';
import type { Machine } from '../../plugins/contract.js';
import { PluginError } from '../../plugins/errors.js';
import { clientToken } from '../../plugins/provider-call.js';
import { tagNames } from '../../model/names.js';
import { createOnce } from './create-once.js';
import { recordedSteps } from './create-record.js';
import type { ProviderCall } from './provider-call.js';
import { acceptFromProvider } from './references.js';
import { refuseFailure } from '../results.js';
import { resetTime } from './superseded.js';

/**
 * Creates at most one machine per key. With a client token the call is simply repeated. Otherwise,
 * if an earlier call may have been sent, the caller has waited until its effect is over and
 * visible; this then looks for the machine. A CREATE that recorded steps continues. A machine is
 * adopted only if its provider says what CREATE returned, which it does for complete ones.
 */
export async function createMachine(
  call: ProviderCall,
  mayBeThere: boolean,
): Promise<Pick<TaskOutcome, 'result' | 'found'>> {
  const { plugin, provider, request, attempt, machine, secrets } = call;
  if (request.adopt === true) return { result: await adoptMachine(call), found: true };
  const earlier = mayBeThere ? await findMachine(call) : undefined;
  if (earlier !== undefined) refuseOther(machine, earlier);
  const steps = Object.keys(recordedSteps(attempt, machine.key));
  if (steps.length > 0) attempt.log.info(`continues after ${steps.join(', ')}`);
  else if (earlier?.created !== undefined) {
    attempt.log.warn(`adopts machine ${earlier.providerid}, which an earlier attempt created`);
    return { result: await resultOf(call, earlier), found: true };
  } else if (earlier !== undefined) throw halfMade(machine.key, earlier);
  const isFound = earlier !== undefined || (await mayHaveBeenMade(call));
  const { config } = request;
  const hostname = textOf(config, 'hostname');
  const create = async (): Promise<unknown> =>
    provider.create({
      ...machine,
      tags: { ...request.labels, ...machine.tags },
      flavor: textOf(config, 'flavor'),
      image: textOf(config, 'image'),
      hostname,
      token: clientToken(machine.key),
    });
  const returned = await (plugin.descriptor.idempotency === 'none' ? createOnce(call, create) : create());
  const taken = await acceptFromProvider(call.parts, request.provider.name, returned, {
    plugin: plugin.descriptor,
    action: 'CREATE',
    config,
    secrets,
  });
  refuseFailure(plugin.descriptor.name, 'Invalid', taken);
  const id = taken.result['providerid'];
  if (typeof id !== 'string' || id === '') {
    throw new PluginError(
      'Invalid',
      `plugin ${plugin.descriptor.name} returned no providerid from CREATE; it must be a string that identifies the machine`,
    );
  }
  if (earlier !== undefined && earlier.providerid !== id) {
    throw new PluginError(
      'MachineFailed',
      `plugin ${plugin.descriptor.name} created machine ${id} although the key already had machine ${earlier.providerid}: a repeated step must find its earlier result. Both machines are deleted`,
      { result: { providerid: id } },
    );
  }
  return { result: taken.result, ...(isFound ? { found: true } : {}) };
}

/**
 * Whether a CREATE that is repeated with its client token may return a machine that was made
 * before: by an earlier attempt or task, or before a reset of the workflow. With other
 * idempotency the machine was looked for.
 */
async function mayHaveBeenMade(call: ProviderCall): Promise<boolean> {
  const { parts, plugin, provider, request, attempt } = call;
  if (plugin.descriptor.idempotency !== 'token') return false;
  const isRepeated =
    !attempt.isFirst || request.createBegun === true || (await resetTime(parts)) !== undefined;
  if (!isRepeated || provider.find === undefined) return isRepeated;
  // The call with the token is right in any case.
  return findMachine(call).then(
    (found) => found !== undefined,
    () => true,
  );
}

/** After a reset of the workflow, a node may have the key of a machine that was made for another file. */
function refuseOther({ key, tags }: Pick<ProviderCall['machine'], 'key' | 'tags'>, earlier: Machine): void {
  const [asked, has] = [tags[tagNames.placement], earlier.tags[tagNames.placement]];
  if (asked === undefined || has === undefined || asked === has) return;
  throw new PluginError(
    'MachineFailed',
    `machine ${earlier.providerid} of key ${key} was created for other hardware, another image or other fields before the workflow was reset`,
    { result: { providerid: earlier.providerid } },
  );
}

/** DELETE by the key removes its parts, and the next machine has another key. */
function halfMade(key: string, { providerid }: Machine): PluginError {
  return new PluginError(
    'MachineFailed',
    `machine ${providerid} of key ${key} may be incomplete: CREATE was interrupted, and the provider does not return its result. The machine is replaced`,
    { result: { providerid } },
  );
}

/**
 * Adopts the machine of a previous run of the cluster. Never creates one: a machine that cannot be adopted is
 * replaced under a new key.
 */
async function adoptMachine(call: ProviderCall): Promise<JsonObject> {
  const {
    plugin: { descriptor },
    provider,
    attempt,
    machine,
    parts: { absences },
  } = call;
  const instead = 'Replace the node';
  if (provider.find === undefined)
    throw new PluginError(
      'Invalid',
      `provider type ${descriptor.name} cannot find the machine of key ${machine.key}, so it cannot be adopted. ${instead}`,
    );
  const found = await findMachine(call);
  if (found === undefined) {
    const missedMs = absences.miss(machine.key);
    if (missedMs < descriptor.consistencyWindowMs) {
      throw new PluginError(
        'NotReady',
        `the machine of key ${machine.key} is not listed; provider type ${descriptor.name} may list it later`,
        { retryAfterMs: descriptor.consistencyWindowMs - missedMs },
      );
    }
    absences.forget(machine.key);
    throw new PluginError(
      'Invalid',
      `the machine of key ${machine.key} no longer exists, so it cannot be adopted. ${instead}`,
    );
  }
  absences.forget(machine.key);
  if (found.created === undefined) {
    throw new PluginError(
      'Invalid',
      `provider type ${descriptor.name} does not return the result of CREATE of machine ${found.providerid}, so the machine cannot be adopted. ${instead}`,
      { result: { providerid: found.providerid } },
    );
  }
  attempt.log.info(`adopts machine ${found.providerid} of key ${machine.key}`);
  return resultOf(call, found);
}

async function findMachine({ provider, machine }: ProviderCall): Promise<Machine | undefined> {
  if (provider.find === undefined) return undefined;
  const machines = (await provider.find(machine.key)).filter((found) => found.state !== 'gone');
  if (machines.length > 1) {
    const ids = machines.map((found) => found.providerid).join(', ');
    throw new PluginError(
      'UnknownOutcome',
      `the provider has ${machines.length} machines for one key (${ids}); delete all but one there, then retry`,
    );
  }
  return machines[0];
}

/** CREATE's result, as far as the provider can reproduce it. */
async function resultOf(
  { parts, plugin, request, secrets }: ProviderCall,
  { providerid, created }: Machine,
): Promise<JsonObject> {
  const taken = await acceptFromProvider(
    parts,
    request.provider.name,
    { result: { ...created, providerid } },
    { plugin: plugin.descriptor, action: 'CREATE', config: request.config, secrets },
  );
  return taken.result;
}

function textOf(config: JsonObject, key: string): string {
  const value = config[key];
  return typeof value === 'string' ? value : '';
}
