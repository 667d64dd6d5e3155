import { serviceActionKeys, type ServiceAction } from '../../action.js';
import type { ClusterSpec, ServiceSpec } from '../../cluster/spec.js';
import { usedConfig } from '../../cluster/used-config.js';
import type { Json, JsonObject } from '../../json.js';

/**
 * Digests of what a service's actions should be, by action. CONFIGURE's covers the cluster's configuration
 * too.
 */
export type ServiceDigests = Readonly<Partial<Record<ServiceAction, string>>>;

/**
 * Digests of all actions of a service. The configuration that it reads is part of the one that takes it up,
 * and CONFIGURE depends on which nodes it reads.
 */
export function digestsOf(
  { actions, onConfigChange, uses, peers }: ServiceSpec,
  config: JsonObject,
  digest: (value: Json) => string,
): ServiceDigests {
  const reader =
    onConfigChange === 'nothing'
      ? undefined
      : actions.configure === undefined && onConfigChange === 'restart'
        ? 'START'
        : 'CONFIGURE';
  const digests: Partial<Record<ServiceAction, string>> = {};
  for (const [key, action] of Object.entries(serviceActionKeys)) {
    const declared = actions[key as keyof typeof actions];
    if (declared === undefined) continue;
    const reads: JsonObject = action === 'CONFIGURE' && peers !== 'all' ? { peers } : {};
    const carried = { type: declared.type, fields: declared.fields, ...reads };
    digests[action] = digest(action === reader ? { ...carried, config: usedConfig(config, uses) } : carried);
  }
  return digests;
}

/** An automator as BOOTSTRAP sees it. */
export interface PreparingAutomator {
  readonly name: string;
  /** The nodes that it prepares: all of them, or those with a service that uses it. */
  readonly prepares: 'all' | 'users';
  /** Of the plugin's files. */
  readonly digest: string;
}

/** Digest of the automators that prepare a node with these services. */
export function bootstrapDigest(
  automators: readonly PreparingAutomator[],
  services: ClusterSpec['services'],
  onNode: readonly string[],
  digest: (value: Json) => string,
): string {
  const used = new Set(
    onNode.flatMap((service) => Object.values(services[service]?.actions ?? {}).map(({ type }) => type)),
  );
  return digest(
    automators
      .filter(({ prepares, name }) => prepares === 'all' || used.has(name))
      .map((automator) => [automator.name, automator.digest]),
  );
}
