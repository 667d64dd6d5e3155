import pLimit from 'p-limit';
import type { Config } from '../../config/index.js';
import type { JsonObject } from '../../model/json.js';
import type { ProviderAccount } from '../../model/provider-account.js';
import type { MachineInput } from '../../plugins/contract.js';
import { originOfMachine } from '../../plugins/login-references.js';
import { callInTime } from '../../plugins/provider-call.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../../plugins/registry.js';
import { probe } from '../../ssh/probe.js';
import { findTarget } from '../login.js';
import { contextOf, resolveOwnFields } from '../provider-call.js';
import { remedyOf } from '../report-error.js';

/** Machines that are tested concurrently. */
const atOnce = 20;
/** Failures that are shown. */
const mostShown = 20;

interface TestedAccount {
  readonly config: Config;
  readonly plugin: RegisteredProvider;
  readonly account: ProviderAccount;
  readonly name: string;
  readonly fields: JsonObject;
}

/**
 * Tries every machine of an account as CONFIRM does: its controller, its plugin, or a login.
 * Changes nothing on it.
 */
export async function testMachines(
  tested: TestedAccount,
  names: readonly string[],
): Promise<{ readonly works: boolean; readonly says: string }> {
  const results = await pLimit(atOnce).map(names, async (machine) => ({
    machine,
    why: await tryMachine(tested, machine).catch(describeFailure),
  }));
  const failed = results.flatMap(({ machine, why }) => (why === undefined ? [] : [`  ${machine}: ${why}`]));
  const total = names.length === 1 ? 'its machine' : `all ${names.length} machines`;
  if (failed.length === 0) return { works: true, says: `${wayOf(tested.plugin)} ${total} succeeded.` };
  const more = failed.length > mostShown ? [`  and ${failed.length - mostShown} more`] : [];
  return {
    works: false,
    says: [
      `${wayOf(tested.plugin)} ${failed.length} of ${names.length} machines failed:`,
      ...failed.slice(0, mostShown),
      ...more,
    ].join('\n'),
  };
}

function wayOf({ abilities }: RegisteredProvider): string {
  if (abilities.includes('powerStatus')) return 'Asking the controllers of';
  return abilities.includes('reach') ? 'Reaching' : 'The login to';
}

/** What failed, and the remedy on a line of its own. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const remedy = remedyOf(error);
  return remedy === undefined ? error.message : `${error.message}\n    next: ${remedy}`;
}

/** Undefined if it works. */
async function tryMachine(tested: TestedAccount, machine: string): Promise<string | undefined> {
  const { plugin, config, account, name, fields } = tested;
  const context = {
    ...contextOf(plugin, { name, fields, machine }),
    resolveReferences: async (value: JsonObject, place: string) =>
      (await resolveOwnFields(config.environment, value, place)).fields,
  };
  const input: MachineInput = { providerid: machine, key: machine, tags: {}, fields };
  const call = <Answer>(work: (provider: ProviderWithAbilities) => Promise<Answer>): Promise<Answer> =>
    callInTime(plugin, context, work);
  if (plugin.abilities.includes('powerStatus')) {
    const reading = await call(async (provider) => provider.powerStatus?.(input));
    return reading?.power === 'unknown'
      ? (reading.why ?? 'its controller does not report its power state')
      : undefined;
  }
  if (plugin.abilities.includes('reach')) {
    const reached = await call(async (provider) => provider.reach?.(input));
    return reached?.is === 'yes' ? undefined : (reached?.why ?? 'it accepts no requests now');
  }
  const { result = {} } = (await call((provider) => provider.confirm(input))) ?? {};
  if (account.hostKeys === 'provided' && result['ssh-host-key'] === undefined)
    return 'it has no hostKey, and `hostKeys: provided` of the account requires one';
  const payload = { ...result, providerid: machine };
  const target = await findTarget(config, { node: machine, account: name, payload, mayPin: true });
  const origin = await originOfMachine(plugin.descriptor, { name, fields: account.fields }, machine);
  await probe({ ...target, origin, ...(account.hostKeys === 'pin' ? { pinsWithPassword: true } : {}) });
  return undefined;
}
