import type { Client } from '@temporalio/client';
import type { CoreParts } from '../activities/table.js';
import type { Config } from '../config/index.js';
import { ownPaths } from '../config/own-files.js';
import { byName } from '../model/by-name.js';
import type { Json } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import { findReferences, type ResolvedSecrets } from '../model/secret-reference.js';
import { checkConfiguration } from '../plugins/check-accounts.js';
import { PluginError } from '../plugins/errors.js';
import type { Registry } from '../plugins/registry.js';
import { allowReferences } from '../secrets/allowed.js';
import {
  forbiddenReferences,
  resolveSecrets,
  SecretError,
  type AllowReference,
  type LimitedOrigin,
  type SecretSources,
} from '../secrets/reference.js';
import { configuredSecrets } from './configured-secrets.js';
import { createRateLimiters } from './account-workflows.js';

/** The parts of activities that follow from heddle.yaml, and are replaced when it changes. */
export type ConfiguredParts = Pick<
  CoreParts,
  'settings' | 'providers' | 'automators' | 'forbiddenReferences' | 'resolveSecrets' | 'rateLimiters'
>;

interface Surroundings {
  readonly registry: Registry;
  readonly temporal: Client;
  readonly secretSources: SecretSources;
}

/** @param checked What `checkSettings` returned for this configuration. */
export function configuredParts(
  config: Config,
  checked: ReturnType<typeof checkSettings>,
  { registry, temporal, secretSources }: Surroundings,
): ConfiguredParts {
  const secrets = configuredSecrets(config, registry);
  const allowsNow = (): AllowReference =>
    allowReferences(config.secrets.allow, ownPaths(config), [...secrets.known], secrets.commands);
  const sources = { ...secretSources, commandVariables: config.secrets.environment };
  return {
    settings: config,
    ...checked,
    forbiddenReferences: (value: Json) =>
      findReferences(value).length === 0 ? [] : forbiddenReferences(value, allowsNow()),
    resolveSecrets: async (value, written) => {
      if (written.writtenBy === 'user') await secrets.update(value);
      const origin: LimitedOrigin =
        written.writtenBy === 'user'
          ? { ...written, writtenBy: 'user', allows: allowsNow() }
          : { ...written, writtenBy: 'administrator' };
      return resolveForTask(value, sources, origin);
    },
    rateLimiters: createRateLimiters(temporal, config.providers),
  };
}

/**
 * Resolves the secrets of a task. @throws PluginError Auth if one of them is not available or not allowed.
 */
export async function resolveForTask(
  value: Json,
  sources: SecretSources,
  origin: LimitedOrigin,
): Promise<ResolvedSecrets> {
  return resolveSecrets(value, sources, origin).catch((error: unknown) => {
    if (!(error instanceof SecretError)) throw error;
    throw new PluginError('Auth', error.message, { cause: error, remedy: error.remedy });
  });
}

/**
 * Accounts and automators with defaults. @throws ProblemsError if one of them is wrong, or names a file of
 * another user.
 */
export function checkSettings(
  registry: Registry,
  config: Config,
): Pick<ConfiguredParts, 'providers' | 'automators'> {
  return checkConfiguration(registry, { ...config, providers: withPools(config) });
}

/** Nodes of pools are available without an account in the configuration, which may still define one. */
export function withPools({ providers, site }: Config): Config['providers'] {
  const pools = providers[poolAccount] ?? { type: 'pool', site, fields: {} };
  return byName([...Object.entries(providers), [poolAccount, pools]]);
}
