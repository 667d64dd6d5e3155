import { anySignal, within } from '../../model/signals.js';
import type { ProbedNode } from '../../model/node/probe.js';
import { tagNames } from '../../model/names.js';
import type {
  AccountOffers,
  AccountQuota,
  Claims,
  Knowledge,
  Machine,
  MachineInput,
  UploadedImage,
  WantedKind,
  WantedSizes,
} from '../../plugins/contract.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import { accountTask, machineInput } from '../../plugins/provider-call.js';
import type { ProviderWithAbilities } from '../../plugins/registry.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { openAccount, type AccountName } from './account.js';
import type { Attempt } from '../attempt.js';
import { readImages } from '../../schema/machine-answer.js';
import { isReachedByPlugin, reachByPlugin } from './reached-by-plugin.js';
import { acceptFromProvider } from './references.js';
import type { ActivityParts } from '../parts.js';
import { refuseFailure } from '../results.js';
import { admitQuestion, type Caller } from './admission.js';
import { callAccount } from './provider-call.js';
import type { SharedLists } from './shared-lists.js';

/** A provider account, for probes of machines. */
export interface AccountView {
  readonly account: string;
  readonly consistencyWindowMs: number;
  /**
   * All machines of this installation, or of another one, that the account has; undefined where
   * the provider cannot list. The list may be one that another caller asked for, but not before
   * `since` (by `performance.now()`; a second ago by default).
   */
  list(since?: number, installation?: string): Promise<readonly Machine[] | undefined>;
  /**
   * One machine, asked for by itself: `undefined` means that it is not there, as far as the provider shows.
   */
  lookUp(node: ProbedNode): Promise<Machine | undefined>;
  /** Whether the resource accepts commands, for accounts reached by their plugin; absent if SSH shows it. */
  readonly reach?: (node: ProbedNode) => Promise<Knowledge>;
  /** Notifies the provider that a node is used again, if it asks for that. */
  reused(node: ProbedNode): Promise<void>;
  /** Images of an installation that were uploaded to it; undefined where the provider cannot list them. */
  images(installation: string): Promise<readonly UploadedImage[] | undefined>;
  /** Undefined if the provider does not report it. */
  quota(wanted: WantedSizes): Promise<AccountQuota | undefined>;
  /**
   * What machines can be made of; empty if the provider does not report it. Machines that are
   * claimed by keys for which `isOwn` holds count as free.
   */
  offers(wanted: WantedKind, isOwn: (key: string) => boolean): Promise<AccountOffers>;
}

/** @throws PluginError as opening the account does. */
export async function viewAccount(
  parts: ActivityParts,
  lists: SharedLists,
  clusterId: string,
  ref: AccountName,
  attempt: Attempt,
): Promise<AccountView> {
  const account = await openAccount(parts, ref, attempt);
  const { plugin, fields } = account;
  const { descriptor } = plugin;
  const claims = readOnce(parts.claims(ref.name));
  const task = accountTask(
    { name: ref.name, type: descriptor.name, fields },
    { title: attempt.title, clusterId, attempt: attempt.number },
  );
  const call = async <Value>(
    work: (provider: ProviderWithAbilities) => Promise<Value>,
    caller: Caller = attempt,
    context = { claims },
  ): Promise<Value> => {
    const admission = await admitQuestion(parts, plugin, ref.name, caller);
    return callAccount(parts, account, { task, attempt: caller, admission, context }, work);
  };
  const inputOf = (node: ProbedNode): MachineInput =>
    machineInput(parts.installation, clusterId, node, fields);
  return {
    account: ref.name,
    consistencyWindowMs: descriptor.consistencyWindowMs,
    async list(since, installation = parts.installation) {
      if (!plugin.abilities.includes('list')) return undefined;
      const tags = { [tagNames.installation]: installation };
      // Others wait for this list too, so it does not end with the first caller.
      const ask = (signal: AbortSignal) =>
        call(async (provider) => (await provider.list?.(tags)) ?? [], { ...attempt, signal, detach: signal });
      const leave = anySignal([attempt.signal, attempt.detach]);
      return within(lists.get(account, tags, ask, since), leave).catch((error: unknown) => {
        if (leave.aborted || isPluginError(error)) throw error;
        throw new PluginError(
          'Retryable',
          `provider ${ref.name} did not list its machines (${error instanceof Error ? error.message : String(error)})`,
          { cause: error },
        );
      });
    },
    images: async (installation) =>
      plugin.abilities.includes('listImages')
        ? call(async (provider) =>
            readImages(await provider.listImages?.({ [tagNames.installation]: installation }), {
              plugin: descriptor.name,
              method: 'listImages',
            }),
          )
        : undefined,
    ...(isReachedByPlugin(plugin)
      ? { reach: (node) => call((provider) => reachByPlugin(plugin, provider, inputOf(node))) }
      : {}),
    quota: (wanted) => call(async (provider) => checkQuota(descriptor.name, await provider.quota?.(wanted))),
    offers: (wanted, isOwn) =>
      call(async (provider) => checkOffers(descriptor.name, await provider.offers?.(wanted)), attempt, {
        claims: withoutKeys(claims, isOwn),
      }),
    reused: (node) =>
      call(async (provider) => {
        if (plugin.abilities.includes('nodeReused')) await provider.nodeReused?.(inputOf(node));
      }),
    lookUp: (node) =>
      call(async (provider) => {
        const machine = inputOf(node);
        const found =
          provider.find === undefined
            ? undefined
            : machineOf(await provider.find(machine.key), machine.key, machine.providerid);
        if (found !== undefined) return found;
        return describe(provider, machine, descriptor, (returned) =>
          acceptFromProvider(parts, ref.name, returned, { plugin: descriptor, action: 'CONFIRM' }),
        );
      }),
  };
}

/**
 * Describing a machine by its id is surer than a search, and all there is where the provider cannot search.
 * But CONFIRM refuses for many a reason: what it says counts as absence only beside a search that found
 * nothing.
 */
async function describe(
  provider: ProviderWithAbilities,
  machine: MachineInput,
  plugin: Descriptor,
  accept: (returned: unknown) => ReturnType<typeof acceptFromProvider>,
): Promise<Machine | undefined> {
  try {
    const taken = await accept(await provider.confirm(machine));
    refuseFailure(plugin.name, 'Invalid', taken);
    const address = taken.result['ipaddress'];
    return {
      providerid: machine.providerid ?? '',
      key: machine.key,
      tags: {},
      state: 'running',
      ...(typeof address === 'string' ? { address } : {}),
    };
  } catch (error) {
    if (
      provider.find !== undefined &&
      isPluginError(error) &&
      ['NotReady', 'MachineFailed', 'Invalid'].includes(error.kind)
    )
      return undefined;
    throw error;
  }
}

/**
 * Among what a provider shows, the machine of this key and, where it is known, of this id. Another key's is
 * not ours.
 */
export function machineOf(
  machines: readonly Machine[],
  key: string,
  providerid: string | undefined,
): Machine | undefined {
  return machines.find((machine) => {
    const own = machine.key ?? machine.tags[tagNames.key];
    return providerid === undefined
      ? own === key
      : machine.providerid === providerid && (own === undefined || own === key);
  });
}

/**
 * The value may come from a program.
 * @throws PluginError Invalid if it is not a quota.
 */
function checkQuota(plugin: string, quota: AccountQuota | undefined): AccountQuota | undefined {
  const areAmounts = (amounts: unknown): boolean =>
    typeof amounts === 'object' &&
    amounts !== null &&
    Object.values(amounts).every((amount) => typeof amount === 'number' && amount >= 0);
  if (quota === undefined) return undefined;
  const { limits, used, sizes = {} } = quota;
  const areSizes = typeof sizes === 'object' && sizes !== null && Object.values(sizes).every(areAmounts);
  if (areAmounts(limits) && areAmounts(used) && areSizes) return quota;
  throw new PluginError(
    'Invalid',
    `plugin ${plugin} returned no valid quota: {limits: {nodes: 10}, used: {nodes: 2}} is expected`,
  );
}

/**
 * The value may come from a program.
 * @throws PluginError Invalid if it is not an offer.
 */
function checkOffers(plugin: string, offers: AccountOffers = {}): AccountOffers {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
  const areNames = (names: unknown): boolean =>
    names === undefined || (Array.isArray(names) && names.every((name) => typeof name === 'string'));
  const isReason = (reason: unknown): boolean => reason === undefined || typeof reason === 'string';
  const isCount = (count: unknown): boolean => Number.isInteger(count) && Number(count) >= 0;
  const { flavors, images, refused = {}, free = { all: 0, ofKind: 0 } } = isObject(offers) ? offers : {};
  if (
    isObject(offers) &&
    areNames(flavors) &&
    areNames(images) &&
    isObject(refused) &&
    isReason(refused.flavor) &&
    isReason(refused.image) &&
    isObject(free) &&
    isCount(free.all) &&
    isCount(free.ofKind) &&
    areNames(free.machines)
  )
    return offers;
  throw new PluginError(
    'Invalid',
    `plugin ${plugin} returned no valid offers: {flavors: ["small"], images: ["debian"], refused: {flavor: "why"}, free: {all: 3, ofKind: 2}} is expected`,
  );
}

function withoutKeys(claims: Claims, isMeant: (key: string) => boolean): Claims {
  return {
    ...claims,
    held: async () =>
      Object.fromEntries(Object.entries(await claims.held()).filter(([, key]) => !isMeant(key))),
  };
}

/** One answer serves all probes of an activity, which look up claims for each machine. */
function readOnce(claims: Claims): Claims {
  let answer: ReturnType<Claims['held']> | undefined;
  const held = (): ReturnType<Claims['held']> => (answer ??= claims.held());
  return {
    ...claims,
    held,
    take: async (key, candidates) =>
      candidates.length > 0
        ? claims.take(key, candidates)
        : Object.entries(await held()).find(([, holder]) => holder === key)?.[0],
  };
}
