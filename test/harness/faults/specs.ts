import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { closed } from '../workflows/spec.js';

export interface Shape {
  /** How many nodes carry `web`; `db` stands on one. */
  readonly web?: number;
  /** Changes the cluster's configuration: every service is configured again. */
  readonly config?: number;
  /** One more service on the node of `db`. */
  readonly cache?: boolean;
}

const action = { type: 'shell', fields: { script: 'true' } };
const actions = { install: action, configure: action, start: action, stop: action };

/** Two services of which one needs the other, on two nodes. */
export function tiny(name: string, { web = 1, config = 0, cache = false }: Shape = {}): ClusterSpec {
  const group = (count: number, services: readonly string[]): object => ({
    count,
    provider: 'memory',
    hardware: 'small',
    image: 'host',
    services,
  });
  return closed({
    name,
    config: { config },
    nodes: { db: group(1, cache ? ['db', 'cache'] : ['db']), web: group(web, ['web']) },
    services: {
      db: { actions: { ...actions, remove: action }, peers: 'none' },
      web: { actions, runtime: { requires: ['db'] } },
      ...(cache
        ? {
            cache: {
              actions: { install: action, start: action, stop: action, remove: action },
              peers: 'none',
            },
          }
        : {}),
    },
  });
}
