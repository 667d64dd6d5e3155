import { activityTable } from '../../model/activities.js';
import { diskMarks, machineActions } from '../../model/machine/actions.js';
import type { AccountReply, AccountRequest } from '../../model/machine/messages.js';
import type { Registry, RegisteredPlugin } from '../../plugins/registry.js';
import { isReachedByPlugin } from '../provider/reached-by-plugin.js';
import { milliseconds } from '../../model/milliseconds.js';
import { PluginError } from '../../plugins/errors.js';
import type { Settings } from '../../schema/config.js';
import { checkUserFields } from '../../schema/fields.js';
import { formatProblem, hasErrors } from '../../schema/problem.js';
import { ApplicationFailure } from '@temporalio/common';
import type { ProviderAccount } from '../../model/provider-account.js';

export interface AccountParts {
  readonly registry: Registry;
  readonly providers: Readonly<Record<string, ProviderAccount>>;
  readonly settings: Pick<Settings, 'quarantineAfter'>;
}

/**
 * The activity DESCRIBE_ACCOUNT: where a machine comes from, which actions it supports, and whether its
 * fields are valid.
 */
export async function describeAccount(parts: AccountParts, request: AccountRequest): Promise<AccountReply> {
  try {
    return describe(parts, request);
  } catch (error) {
    if (error instanceof PluginError) throw ApplicationFailure.nonRetryable(error.message, error.kind);
    throw error;
  }
}

function describe({ registry, providers, settings }: AccountParts, request: AccountRequest): AccountReply {
  const account = providers[request.provider];
  if (account === undefined) {
    throw new PluginError(
      'Invalid',
      `heddle.yaml has no provider "${request.provider}" (it has: ${Object.keys(providers).join(', ') || 'none'})`,
    );
  }
  const plugin = registry.provider(account.type);
  const problems = checkUserFields(plugin.descriptor, account, request.fields, ['fields']);
  if (hasErrors(problems))
    throw new PluginError(
      'Invalid',
      `the fields for provider ${request.provider} are wrong: ${problems.map(formatProblem).join('; ')}`,
    );
  const system = request.system === null ? undefined : registry.automator(request.system);
  if (system !== undefined && !system.abilities.includes('postLoad')) {
    throw new PluginError(
      'Invalid',
      `automator ${request.system} does not support the systems of machines; use one that has postLoad, or none`,
    );
  }
  if (system !== undefined && isReachedByPlugin(plugin)) {
    throw new PluginError(
      'Invalid',
      `resources of provider ${request.provider} are reached by its plugin and have no log-in, so they have no system: register them with --system none`,
    );
  }
  const { flavor, image } = request;
  const { loadWithin } = account.limits ?? {};
  return {
    type: account.type,
    site: account.site,
    flavor: account.hardware?.[flavor] ?? flavor,
    image: account.images?.[image] ?? image,
    can: actionsOf(plugin, system, account),
    quarantineAfter: settings.quarantineAfter,
    ...(loadWithin === undefined ? {} : { loadWithinMs: milliseconds(loadWithin) }),
  };
}

function actionsOf(
  plugin: RegisteredPlugin<never, unknown>,
  system: RegisteredPlugin<never, unknown> | undefined,
  { fields: { erase } }: ProviderAccount,
): readonly string[] {
  return machineActions.filter((action) => {
    const { by, method, queue } = activityTable[action];
    // A disk is marked over SSH.
    if (diskMarks.some((mark) => mark === action)) return !isReachedByPlugin(plugin);
    if (method === undefined) return queue === 'site';
    // The controller of a machine that exists already is asked instead of its system, which it may not have.
    if (action === 'ENROL' && !plugin.descriptor.capabilities.includes('claims')) return false;
    if (action === 'ERASE' && !(Array.isArray(erase) && erase.length > 0)) return false;
    if (action === 'POWER_RESET')
      return plugin.abilities.includes('powerReset') || plugin.abilities.includes('powerOff');
    return (by === 'provider' ? plugin : system)?.abilities.includes(method) === true;
  });
}
