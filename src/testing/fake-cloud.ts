import { startMachineService, type MachineService, type MachineServiceOptions } from './machine-service.js';
import { openProxy, type CallFault, type PassingCall } from './proxy.js';

/**
 * How often an API fails by itself. A repeated call passes, so that callers that retry get through; the
 * failure then affects the next call.
 */
export interface Flakiness {
  /** Every how many calls one is refused, with 429 and 503 in turn. Default: none. */
  readonly refuseEvery?: number | undefined;
  /** Every how many calls one is carried out and its answer is lost. Default: none. */
  readonly loseEvery?: number | undefined;
}

/** Stands before an HTTP API. */
export interface FlakyApi {
  readonly endpoint: string;
  /** While it is calm, every call passes. */
  readonly calm: (isCalm: boolean) => void;
  /** How many calls it let fail so far. */
  readonly failures: () => { readonly refused: number; readonly lost: number };
  readonly close: () => Promise<void>;
}

/** Lets calls to the HTTP API at this address fail now and then, as those of clouds do. */
export async function startFlakyApi(target: string, flakiness: Flakiness): Promise<FlakyApi> {
  const proxy = await openProxy(target);
  const spared = new Set<string>();
  /** Failures that wait for a call, the oldest first. */
  const due = new Set<'refuse' | 'lose'>();
  let isCalm = false;
  let refused = 0;
  let lost = 0;
  const faultOf = ({ method, path, number }: PassingCall): CallFault | undefined => {
    if (isCalm) return undefined;
    if (isTurn(number, flakiness.refuseEvery)) due.add('refuse');
    if (isTurn(number, flakiness.loseEvery)) due.add('lose');
    const call = `${method} ${path}`;
    const [fault] = due;
    if (spared.delete(call) || fault === undefined) return undefined;
    due.delete(fault);
    spared.add(call);
    if (fault === 'lose') {
      lost += 1;
      return { kind: 'lose' };
    }
    refused += 1;
    return refusals[(refused - 1) % refusals.length];
  };
  proxy.set(faultOf);
  return {
    endpoint: proxy.endpoint,
    calm: (calm) => {
      isCalm = calm;
    },
    failures: () => ({ refused, lost }),
    close: () => proxy.close(),
  };
}

function isTurn(number: number, every: number | undefined): boolean {
  return every !== undefined && number % every === 0;
}

/** As load balancers refuse: not in the API's own form. */
const refusals: readonly CallFault[] = [
  {
    kind: 'answer',
    status: 429,
    headers: { 'content-type': 'text/html', 'retry-after': '1' },
    body: '<html>Too Many Requests</html>',
  },
  {
    kind: 'answer',
    status: 503,
    headers: { 'content-type': 'text/html' },
    body: '<html>Service Unavailable</html>',
  },
];

export type FakeCloudOptions = Pick<MachineServiceOptions, 'pageSize' | 'lagMs'> & Flakiness;

/** A machine service that lags and fails. Its methods reach it past the failures. */
export type FakeCloud = MachineService & Pick<FlakyApi, 'calm' | 'failures'>;

/**
 * Starts a fake cloud on loopback: real machines with SSH, small pages, late lists, refused and lost calls.
 */
export async function startFakeCloud({
  pageSize,
  lagMs,
  ...flakiness
}: FakeCloudOptions = {}): Promise<FakeCloud> {
  const service = await startMachineService({ pageSize, lagMs });
  const api = await startFlakyApi(service.endpoint, flakiness).catch(async (error: unknown) => {
    await service.close();
    throw error;
  });
  return {
    ...service,
    endpoint: api.endpoint,
    calm: api.calm,
    failures: api.failures,
    close: async () => {
      await api.close().finally(() => service.close());
    },
  };
}
