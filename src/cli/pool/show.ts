import { listPools } from '../../client/list.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { amountsText } from '../../model/pool/amounts.js';
import type { PoolNodeView, PoolView } from '../../schema/output/pool.js';
import type { ServerOptions } from '../configuration.js';
import { cleanJson } from '../clean-text.js';
import { formatAge } from '../format.js';
import { verb } from '../verb.js';
import { failuresOf } from './task-failures.js';
import { poolVerb } from './pool-verb.js';
import { withoutSecrets } from './request-text.js';

/** The pools in the server's index; no worker is needed. */
export const list = verb(async ({ temporal }, _options: ServerOptions) => listPools(temporal), {
  document: (pools) => ({ pools }),
  table: {
    head: ['POOL', 'AGE'],
    rows: (pools) => pools.map(({ name, createdAt }) => [name, formatAge(createdAt, Date.now())]),
    empty: 'no pools\nnext: heddle pool apply FILE',
  },
});

export const labels = poolVerb(
  async (pool, session, _options: ServerOptions) => {
    const view = await pool.view();
    const isShort = Object.values(view.labels).some(({ lacks }) => lacks !== undefined);
    if (!isShort) return view;
    return {
      ...view,
      labels: explainLabels(view.labels, await pool.nodes(), await failuresOf(session, pool)),
    };
  },
  {
    print: (output, view) => {
      if (view.exported !== undefined)
        output.line(`exported by ${view.exported.by}: its nodes belong to the restored pool`);
      const isShort = Object.values(view.labels).some(({ lacks }) => lacks !== undefined);
      output.table(
        [
          'LABEL',
          'READY',
          'KEPT',
          'BUILDING',
          'IN USE',
          'OTHER',
          'WAITING',
          'SERVED BY',
          ...(isShort ? ['WHY'] : []),
        ],
        Object.entries(view.labels).map(([label, { nodes: counts, minReady, waiting, servedBy, lacks }]) => {
          const { ready = 0, building = 0, 'in-use': inUse = 0, ...others } = counts;
          const other = Object.values(others).reduce((sum, count) => sum + count, 0);
          const served = servedBy.map(({ providerPool, provider, image }) => {
            const version = image === undefined ? '' : `, ${image.version ?? image.lacks ?? image.name}`;
            return `${providerPool} (${provider}${version})`;
          });
          const cells = [label, ready, minReady, building, inUse, other, waiting, served.join(', ')];
          return [...cells, ...(isShort ? [lacks ?? '-'] : [])].map(String);
        }),
      );
      output.line();
      output.table(
        ['PROVIDER POOL', 'PROVIDER', 'PRIORITY', 'USED', 'LIMITS', 'QUOTA', 'PAUSED'],
        Object.entries(view.providerPools).map(
          ([key, { provider, priority, used, limits, quota, paused }]) => [
            key,
            provider,
            String(priority),
            amountsText(used) || '-',
            amountsText(limits) || 'none',
            quota === undefined ? '-' : amountsText(quota) || '-',
            paused ?? '-',
          ],
        ),
      );
      for (const [tenant, { used, limits }] of Object.entries(view.tenants))
        output.line(`tenant ${tenant}: ${amountsText(used) || 'nothing'} of ${amountsText(limits)}`);
    },
  },
);

/** A retried task shows why a node is not ready yet; the pool itself sees only the task's end. */
function explainLabels(
  views: PoolView['labels'],
  nodes: readonly PoolNodeView[],
  failures: ReadonlyMap<string, string>,
): PoolView['labels'] {
  const whyOf = (label: string): string | undefined =>
    nodes
      .filter((node) => node.label === label && node.state === 'building')
      .flatMap(({ id, providerPool }) => {
        const failure = failures.get(id);
        return failure === undefined ? [] : [`${providerPool}: ${failure}`];
      })[0];
  return Object.fromEntries(
    Object.entries(views).map(([label, view]) => [
      label,
      view.lacks === undefined ? view : { ...view, lacks: whyOf(label) ?? view.lacks },
    ]),
  );
}

/** The complete state of every pool, or of one, as JSON; without secrets. */
export const dump = verb(
  async ({ temporal }, name: string | undefined, _options: ServerOptions) => {
    const names = name === undefined ? (await listPools(temporal)).map((pool) => pool.name) : [name];
    const pools: object[] = [];
    for (const each of names) {
      const pool = new PoolClient(temporal, each);
      const requests = (await pool.requests()).map(withoutSecrets);
      pools.push({ ...(await pool.view()), spec: await pool.spec(), nodes: await pool.nodes(), requests });
    }
    return { pools };
  },
  { worker: true, print: (output, answer) => output.raw(cleanJson(answer, 2)) },
);
