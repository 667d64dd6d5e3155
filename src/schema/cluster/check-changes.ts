import type { ClusterSpec, ServiceSpec } from '../../model/cluster/spec.js';
import { errorAt, type Path, type Problem } from '../problem.js';
import { suggest } from '../suggest.js';

/** Checks the settings of a service for changes of its configuration and for rolling operations. */
export function checkChanges(
  spec: ClusterSpec,
  name: string,
  service: ServiceSpec,
  path: Path,
): readonly Problem[] {
  return [
    ...checkReaction(service, path),
    ...checkUses(spec, service, path),
    ...checkBatch(spec, name, service, path),
    ...(service.rolling?.drain ?? []).flatMap((router, index) =>
      checkRouter(spec, name, router, [...path, 'rolling', 'drain', index]),
    ),
  ];
}

const needed = {
  restart: ['start'],
  reload: ['configure', 'reload'],
  configure: ['configure'],
  nothing: [],
} as const;

function checkReaction({ onConfigChange, actions }: ServiceSpec, path: Path): readonly Problem[] {
  if (onConfigChange === undefined) return [];
  return needed[onConfigChange]
    .filter((action) => actions[action] === undefined)
    .map((action) =>
      errorAt(
        [...path, 'onConfigChange'],
        `is ${onConfigChange}, but the service has no action ${action}`,
        `Add actions.${action}, or set onConfigChange: nothing.`,
      ),
    );
}

function checkUses({ config }: ClusterSpec, { uses }: ServiceSpec, path: Path): readonly Problem[] {
  return (uses?.config ?? []).flatMap((key, index) =>
    Object.hasOwn(config, key)
      ? []
      : [
          errorAt(
            [...path, 'uses', 'config', index],
            `config has no key ${key}`,
            suggest(key, Object.keys(config)) ?? 'Add it under config.',
          ),
        ],
  );
}

/** Drained nodes get no traffic, so a batch must leave other nodes, except with a single node. */
function checkBatch(
  { nodes }: ClusterSpec,
  name: string,
  { rolling }: ServiceSpec,
  path: Path,
): readonly Problem[] {
  const count = Object.values(nodes).reduce(
    (sum, group) => sum + (group.services.includes(name) ? group.count : 0),
    0,
  );
  if (rolling === undefined || rolling.drain.length === 0 || count < 2 || rolling.batch < count) return [];
  return [
    errorAt(
      [...path, 'rolling', 'batch'],
      `is ${rolling.batch}, but the service has ${count} nodes: no node would get traffic while all are drained`,
      `Set it to at most ${count - 1}, or remove drain.`,
    ),
  ];
}

/** A router is configured without the nodes of a batch, so it must read them. */
function checkRouter(spec: ClusterSpec, name: string, router: string, path: Path): readonly Problem[] {
  const found = Object.hasOwn(spec.services, router) ? spec.services[router] : undefined;
  if (found === undefined)
    return [
      errorAt(
        path,
        `service ${router} is not defined`,
        suggest(router, Object.keys(spec.services)) ?? 'Define it under services.',
      ),
    ];
  if (router === name)
    return [errorAt(path, 'a service cannot route traffic to itself', 'List the services in front of it.')];
  if (found.actions.configure === undefined)
    return [
      errorAt(
        path,
        `${router} has no action configure, which drains nodes`,
        `Add services.${router}.actions.configure.`,
      ),
    ];
  return found.peers === 'none'
    ? [
        errorAt(
          path,
          `${router} reads no nodes (peers: none), so it cannot exclude drained nodes`,
          `Set services.${router}.peers to dependencies or all.`,
        ),
      ]
    : [];
}
