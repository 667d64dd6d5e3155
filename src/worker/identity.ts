import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Config } from '../config/index.js';
import type { Json } from '../model/json.js';
import { stableJson } from '../model/node/payload.js';
import { stripSecrets } from '../model/node/strip-secrets.js';
import {
  formatIdentity,
  pluginDigests,
  type ConfigDigests,
  type ReloadState,
} from '../model/worker-identity.js';
import type { Registry } from '../plugins/registry.js';
import type { KeyRing } from '../secrets/keys.js';
import { bundlePath } from './queues.js';

/** The identity of this process as a worker, with digests of what workers of one queue must agree on. */
export function identityOf(
  config: Config,
  registry: Registry,
  keyRing: KeyRing,
  reload: ReloadState,
): string {
  const digests = digestsOf(config, registry);
  const key = { id: keyRing.current().id, source: keyRing.source };
  return formatIdentity(
    { worker: `${process.pid}@${hostname()}`, build: ownBuild(), key, config: digests, reload },
    digestOf(digests),
  );
}

/** The version of the package. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}

let build: string | undefined;

/**
 * Two development builds of one version differ in their workflow code. Read once: an upgrade
 * may replace the files while this process runs.
 */
export function ownBuild(): string {
  build ??= readBuild();
  return build;
}

function readBuild(): string {
  const digest = createHash('sha256').update(readFileSync(bundlePath)).digest('hex').slice(0, 8);
  return `${readVersion()}+${digest}`;
}

function digestsOf(
  { providers, automators, webhooks, secrets, scale }: Config,
  registry: Registry,
): ConfigDigests {
  return {
    ...eachOf('provider', providers),
    ...eachOf('automator', automators),
    ...pluginDigests(registry.versions()),
    ...eachOf('webhook', webhooks),
    'secrets.allow': digestOf(secrets.allow ?? null),
    scale: digestOf(scale),
    version: digestOf(
      registry
        .versions()
        .filter(({ builtIn }) => builtIn)
        .map(({ type, name, version }) => `${type} ${name} ${version}`),
    ),
  };
}

function eachOf(kind: string, entries: Readonly<Record<string, object>>): ConfigDigests {
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [`${kind}/${name}`, digestOf(plain(entry))]),
  );
}

/** Without secrets: a short digest of a weak one would give it away. */
function plain(entry: object): Json {
  return stripSecrets(JSON.parse(JSON.stringify(entry)) as Record<string, Json>);
}

function digestOf(value: Json | readonly string[] | ConfigDigests): string {
  return createHash('sha256').update(stableJson(value)).digest('hex').slice(0, 8);
}
