import type { Json } from '../../json.js';
import type { ClusterSpec } from '../../cluster/spec.js';

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
