import type { ServiceSpec } from '../cluster/spec.js';
import { readEndpoint } from '../endpoint.js';

/** How the health of a service is checked. Durations are in seconds. */
export type HealthCheck = NonNullable<ServiceSpec['check']>;

/** The target of a check as the node itself sees it; the host `node` means the node's own address. */
export type HealthProbe =
  | { readonly kind: 'command'; readonly command: string; readonly sudo: boolean }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'http'; readonly url: string };

export function probeOf({ command, sudo = false, tcp, http }: HealthCheck): HealthProbe {
  if (command !== undefined) return { kind: 'command', command, sudo };
  if (http !== undefined) return { kind: 'http', url: http };
  return { kind: 'tcp', ...(readEndpoint(String(tcp)) ?? { host: '127.0.0.1', port: 0 }) };
}

/** Result of the last health check of a service on a node. */
export interface ServiceHealth {
  readonly well: boolean;
  /** RFC 3339. */
  readonly at: string;
  /** One line: the check and its result. */
  readonly why?: string;
}

/** The host name that means the node's own address. */
export const ownHost = 'node';

/** Its words for people: `tcp node:5432`. */
export function describeProbe(probe: HealthProbe): string {
  switch (probe.kind) {
    case 'command':
      return `command ${probe.command.split('\n', 1)[0] ?? ''}`;
    case 'tcp':
      return `tcp ${probe.host}:${probe.port}`;
    case 'http':
      return `http ${probe.url}`;
  }
}
