/** How one sees whether a service on a node is well, and how patiently. */
export interface HealthCheck {
  readonly probe: HealthProbe;
  /** How long START waits for it, in ms. */
  readonly withinMs: number;
  /** Wait between two looks, in ms. */
  readonly everyMs: number;
  /** Longest time of one look, in ms. */
  readonly timeoutMs: number;
}

/** What is looked at, as the node itself sees it; `node` as a host stands for the node's own address. */
export type HealthProbe =
  | { readonly kind: 'command'; readonly command: string; readonly sudo?: true }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'http'; readonly url: string };

/** How a service on a node was found when it was looked at last. */
export interface ServiceHealth {
  readonly well: boolean;
  /** RFC 3339. */
  readonly at: string;
  /** One line: what was looked at, what was found. */
  readonly why?: string;
}

/** The host that stands for the node's own address. */
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
