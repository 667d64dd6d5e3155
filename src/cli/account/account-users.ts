import { listClustersOf, listPools } from '../../client/list.js';
import { PoolClient } from '../../client/pool/pool-client.js';
import { withSession, type Session } from '../session.js';
import type { ServerOptions } from '../configuration.js';
import { messageOf } from '../report-error.js';

/** What uses an account, such as `cluster web`. Uncertain users are included, with the reason. */
async function accountUsers(
  { client, temporal }: Pick<Session, 'client' | 'temporal'>,
  account: string,
): Promise<readonly string[]> {
  const clusters = await listClustersOf(temporal, account);
  const pools = await Promise.all(
    (await listPools(temporal)).map(async ({ name }) => {
      const view = await new PoolClient(temporal, name).view().catch(() => undefined);
      if (view === undefined) return [`pool ${name} (perhaps: it does not answer)`];
      const isUsed = Object.values(view.providerPools).some(({ provider }) => provider === account);
      return isUsed ? [`pool ${name}`] : [];
    }),
  );
  const { images, silent: silentImages } = await client.images.list();
  const imagesThere = images.filter(({ builds }) =>
    builds.some(({ uploads }) => uploads.some(({ provider }) => provider === account)),
  );
  const { machines, silent } = await client.machines.list();
  return [
    ...clusters.map(
      ({ name, providers }) =>
        `cluster ${name}${providers.length === 0 ? ' (perhaps: its providers are not indexed)' : ''}`,
    ),
    ...pools.flat(),
    ...imagesThere.map(({ name }) => `image ${name}`),
    ...silentImages.map((name) => `image ${name} (perhaps: it does not answer)`),
    ...machines.filter(({ provider }) => provider === account).map(({ name }) => `machine ${name}`),
    ...silent.map((name) => `machine ${name} (perhaps: it does not answer)`),
  ];
}

/** The same as a sentence, for the question before an account is removed. */
export async function describeUsers(options: ServerOptions, account: string): Promise<string> {
  try {
    const users = await withSession(options, (session) => accountUsers(session, account));
    if (users.length === 0) return 'No cluster, pool, image or machine on the server uses it.';
    const shown = users.slice(0, 20).join(', ');
    return `${shown}${users.length > 20 ? ` and ${users.length - 20} more` : ''} ${users.length === 1 ? 'uses' : 'use'} it: delete what uses it first, or move it to another account.`;
  } catch (error) {
    return `It is unknown whether anything uses it: ${messageOf(error)}`;
  }
}
