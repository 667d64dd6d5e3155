import { z } from 'zod';
import { tagNames } from '../../../model/names.js';
import { PluginError, type Machine } from '../../contract.js';
import { sshPort } from './container.js';
import type { DockerFields } from './field-types.js';

const labels = z
  .record(z.string(), z.string())
  .nullish()
  .transform((found) => found ?? {});
const ports = z.record(z.string(), z.array(z.object({ HostPort: z.string() })).nullish()).nullish();

export const createdSchema = z.object({ Id: z.string().min(1) });
export const listSchema = z.array(z.object({ Id: z.string().min(1) }));
export const detailsSchema = z.object({
  Id: z.string().min(1),
  Created: z.string(),
  State: z.object({ Status: z.string(), ExitCode: z.number().default(0) }),
  Config: z.object({ Labels: labels }),
  NetworkSettings: z.object({
    IPAddress: z.string().default(''),
    Ports: ports,
    Networks: z.record(z.string(), z.object({ IPAddress: z.string().default('') })).nullish(),
  }),
});
export type Details = z.output<typeof detailsSchema>;

/** Podman has names of its own for some. */
const states: Readonly<Record<string, Machine['state']>> = {
  created: 'starting',
  configured: 'starting',
  initialized: 'starting',
  restarting: 'starting',
  running: 'running',
  paused: 'stopped',
  exited: 'stopped',
  stopped: 'stopped',
  stopping: 'stopped',
  dead: 'failed',
  removing: 'deleting',
};

export function machineOf(details: Details, fields: DockerFields): Machine {
  const {
    Id,
    Created,
    State,
    Config: { Labels },
  } = details;
  const state = states[State.Status];
  if (state === undefined)
    throw new PluginError('Retryable', `container ${Id} is in an unknown state: ${State.Status}`);
  const key = Labels[tagNames.key];
  const address = placeOf(details, fields)?.host;
  const createdAt = new Date(Created);
  return {
    providerid: Id,
    tags: Labels,
    state,
    key,
    address,
    ...(Number.isNaN(createdAt.getTime()) ? {} : { createdAt: createdAt.toISOString() }),
  };
}

/** Where its SSH server is; undefined until the daemon has given it an address or a port. */
export function placeOf(
  { NetworkSettings }: Details,
  { reachBy, address, network }: DockerFields,
): { readonly host: string; readonly port: number } | undefined {
  if (reachBy === 'port') {
    const port = Number(NetworkSettings.Ports?.[sshPort]?.[0]?.HostPort ?? 0);
    return port === 0 ? undefined : { host: address, port };
  }
  const networks = NetworkSettings.Networks ?? {};
  const host = [
    network === undefined ? undefined : networks[network]?.IPAddress,
    NetworkSettings.IPAddress,
    ...Object.values(networks).map(({ IPAddress }) => IPAddress),
  ].find((one) => one !== undefined && one !== '');
  return host === undefined ? undefined : { host, port: 22 };
}
