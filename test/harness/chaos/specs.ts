import type { JsonObject } from '../../../src/model/json.js';
import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { closed, nodes } from '../workflows/spec.js';
import type { Ledger } from './ledger.js';
import { markOf } from './machines.js';

export interface Shape {
  /** How many nodes carry `web`; `db` stands on one. */
  readonly web: number;
  /** Changes the cluster's configuration: its services are configured again. */
  readonly config: number;
  /** One more service on the node of `db`. */
  readonly cache: boolean;
}

export interface SpecParts {
  readonly ledger: Ledger;
  /** The account of its machines, and the one that takes its place where that has no room. */
  readonly provider: string;
  readonly alternative: string;
  /** A secret that every script is given. */
  readonly secret: { readonly secret: string };
  /** The automator of every action; `shell` unless given. */
  readonly automator?: string;
  /** Seconds that each script takes. */
  readonly seconds?: number;
}

/**
 * Two services, of which one needs the other, on two nodes or more; every script tells the ledger of itself.
 */
export function smallCluster(name: string, { web, config, cache }: Shape, parts: SpecParts): ClusterSpec {
  const { provider, alternative } = parts;
  const placement = { provider, alternatives: [{ provider: alternative }] };
  return closed({
    name,
    config: { config, token: parts.secret },
    nodes: { db: nodes(1, cache ? ['db', 'cache'] : ['db'], placement), web: nodes(web, ['web'], placement) },
    services: {
      db: { peers: 'none', actions: actionsOf('db', parts) },
      web: { runtime: { requires: ['db'] }, actions: actionsOf('web', parts) },
      ...(cache ? { cache: { peers: 'none', actions: actionsOf('cache', parts) } } : {}),
    },
  });
}

function actionsOf(
  service: string,
  { ledger, secret, automator = 'shell', seconds = 0.1 }: SpecParts,
): JsonObject {
  const mark = markOf(service);
  const bodies = {
    install: ':',
    configure: ':',
    initialize: ':',
    start: `echo >"$HOME/${mark}"`,
    stop: `rm -f "$HOME/${mark}"`,
    remove: ':',
  };
  const environment = { LEDGER: ledger.file, TOKEN: secret };
  return Object.fromEntries(
    Object.entries(bodies).map(([action, body]) => [
      action,
      {
        type: automator,
        fields: {
          script: ledger.script(`[ -n "$TOKEN" ] || exit 9\nsleep ${seconds}\n${body}`),
          environment,
        },
      },
    ]),
  );
}
