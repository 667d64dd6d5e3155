import type { Amounts } from '../../../src/model/pool/amounts.js';
import { configurePool } from '../../../src/model/pool/configure.js';
import type { LabelSpec, OfferSpec, PoolSpec, ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import { noteImageUpdate, placementFor } from '../../../src/model/pool/library.js';
import type { Placement } from '../../../src/model/node/placement.js';
import { newPool, type PoolState } from '../../../src/model/pool/state.js';

export const labelDefaults: LabelSpec = { minReady: 0, spareAge: 600, onReturn: 'delete' };

export function offer(more: Partial<OfferSpec> = {}): OfferSpec {
  return { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 }, ...more };
}

export function providerPool(
  labels: Readonly<Record<string, OfferSpec>>,
  more: Partial<ProviderPoolSpec> = {},
): ProviderPoolSpec {
  return { provider: 'cloud', priority: 100, limits: {}, attributes: {}, launchAttempts: 3, labels, ...more };
}

export interface Wanted {
  readonly labels: Readonly<Record<string, Partial<LabelSpec>>>;
  readonly providerPools: Readonly<Record<string, ProviderPoolSpec>>;
  readonly tenants?: Readonly<Record<string, Amounts>>;
  readonly weights?: Readonly<Record<string, number>>;
}

export function openPool(wanted: Wanted): PoolState {
  const pool = newPool('ci', 'uid');
  reconfigure(pool, wanted);
  return pool;
}

export function reconfigure(
  pool: PoolState,
  { labels, providerPools, tenants = {}, weights }: Wanted,
  image = 'host',
): void {
  const spec: PoolSpec = {
    name: 'ci',
    tenants,
    ...(weights === undefined ? {} : { weights }),
    providerPools,
    labels: Object.fromEntries(
      Object.entries(labels).map(([name, label]) => [name, { ...labelDefaults, ...label }]),
    ),
  };
  const placements = Object.fromEntries(
    Object.entries(providerPools).map(([name, { provider, labels: offers }]) => [
      name,
      Object.fromEntries(
        Object.entries(offers).map(([label, { libraryImage }]) => [
          label,
          {
            provider,
            type: 'memory',
            site: 'here',
            flavor: 'small',
            image,
            fields: {},
            digest: `${label}-${image}`,
            libraryImage,
          },
        ]),
      ),
    ]),
  );
  configurePool(pool, { spec, placements, providerTypes: {} });
}

/** As run-node notes it when it asks for a machine. */
export function begin(pool: PoolState, id: string, digest = `${pool.nodes[id]?.label}-host`): void {
  const node = pool.nodes[id];
  if (node === undefined || node.machine.facts.machine !== undefined) return;
  const { digest: _digest, ...placement } = placementFor(pool, node.providerPool, node.label) ?? {};
  pool.nodes[id] = {
    ...node,
    machine: {
      ...node.machine,
      facts: { ...node.machine.facts, machine: digest },
      ...(isPlacement(placement) ? { placement } : {}),
    },
  };
}

/** As the image `web` tells it: by provider account, the build that is offered there. */
export function tell(pool: PoolState, offers: Readonly<Record<string, number>>, uid = 'web-uid'): void {
  const version = (pool.library?.['web']?.version ?? 0) + 1;
  noteImageUpdate(pool, {
    image: 'web',
    uid,
    version,
    offers: Object.fromEntries(
      Object.entries(offers).map(([provider, build]) => [provider, { build, image: `web@${build}` }]),
    ),
  });
}

function isPlacement(placement: Partial<Placement>): placement is Placement {
  return placement.provider !== undefined;
}
