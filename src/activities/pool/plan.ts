import { ApplicationFailure } from '@temporalio/common';
import { jsonBytes, maxPlacementBytes } from '../../model/carried.js';
import { milliseconds } from '../../model/milliseconds.js';
import type { Json } from '../../model/json.js';
import type { PlanPoolRequest, PoolPlan } from '../../model/pool/messages.js';
import type {
  OfferPlacement,
  OfferSpec,
  PoolSpec,
  ProviderPoolSpec,
  ProviderTraits,
} from '../../model/pool/spec.js';
import { checkUserFields } from '../../schema/fields.js';
import { parsePool } from '../../schema/pool/read.js';
import { errorAt, formatProblem, hasErrors, type Path, type Problem } from '../../schema/problem.js';
import { suggest } from '../../schema/suggest.js';
import { isReachedByPlugin } from '../provider/reached-by-plugin.js';
import type { PlanParts } from '../cluster/plan.js';
import { digestOf } from '../digest.js';
import { patienceFor } from '../provider/patience.js';

/** Added to the time of one call for further attempts to delete a machine, in ms. */
const attemptsMs = 2 * 60_000;

type Parts = Pick<PlanParts, 'registry' | 'providers' | 'forbiddenReferences'>;

/**
 * The activity PLAN_POOL: checks a pool against plugins and configuration, and finds where its machines come
 * from. No side effects.
 */
export async function planPool(
  parts: Parts,
  { poolName, spec: written }: PlanPoolRequest,
): Promise<PoolPlan> {
  const reading = parsePool(written);
  if (!reading.ok) throw invalid(reading.problems);
  const { spec } = reading;
  if (spec.name !== poolName)
    throw invalid([errorAt(['name'], `is "${spec.name}", but the workflow belongs to pool "${poolName}"`)]);
  const problems = Object.entries(spec.providerPools).flatMap(([name, provider]) =>
    checkProviderPool(parts, provider, ['providerPools', name]),
  );
  if (hasErrors(problems)) throw invalid(problems);
  const notifiedOfReuse = Object.entries(spec.providerPools)
    .filter(([, { provider }]) => hears(parts, provider))
    .map(([name]) => name);
  const placements = placementsOf(parts, spec);
  const bytes = jsonBytes(placements);
  if (bytes > maxPlacementBytes)
    throw invalid([
      errorAt(
        ['providerPools'],
        `give the machines of all labels ${bytes} bytes of fields as JSON, and the limit is ${maxPlacementBytes}`,
        'Give them fewer fields, or distribute the labels over several pools.',
      ),
    ]);
  const accounts = [...new Set(Object.values(spec.providerPools).map(({ provider }) => provider))];
  const batchedAccounts = accounts.filter((name) => bearsTogether(parts, name));
  return {
    spec,
    placements,
    ...(notifiedOfReuse.length === 0 ? {} : { notifiedOfReuse }),
    ...(batchedAccounts.length === 0 ? {} : { batchedAccounts }),
    providerTypes: Object.fromEntries(accounts.flatMap((name) => traitsOf(parts, name))),
  };
}

function traitsOf({ providers, registry }: Parts, name: string): readonly [string, ProviderTraits][] {
  const type = providers[name]?.type;
  if (type === undefined) return [];
  const { callDeadlineMs, consistencyWindowMs, capabilities, requests, idempotency } =
    registry.provider(type).descriptor;
  const claims = capabilities.includes('claims') || requests.some((request) => request.startsWith('claims.'));
  // A call that takes as long as it may, a second check if lists lag, and time for further attempts.
  const traits = { deleteWithinMs: callDeadlineMs + consistencyWindowMs + attemptsMs, claims };
  return [[type, idempotency === 'none' ? { ...traits, hasUnknownOutcomes: true } : traits]];
}

/** Whether the provider wants to know of nodes that are reused. */
function hears({ providers, registry }: Parts, name: string): boolean {
  const account = providers[name];
  return account !== undefined && registry.provider(account.type).abilities.includes('nodeReused');
}

/**
 * Whether one activity may make calls for several nodes: where no limit has calls wait, and where making a
 * call again, because that of another node was cut, needs no waiting.
 */
function bearsTogether({ providers, registry }: Parts, name: string): boolean {
  const account = providers[name];
  if (account === undefined || Object.keys(account.limits ?? {}).length > 0) return false;
  const { descriptor, reserve } = registry.provider(account.type);
  return descriptor.idempotency === 'token' && !descriptor.serial && reserve === undefined;
}

function invalid(problems: readonly Problem[]): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problems.map(formatProblem).join('\n'), 'Invalid', problems);
}

function checkProviderPool(
  { providers, registry, forbiddenReferences }: Parts,
  { provider, labels }: ProviderPoolSpec,
  at: Path,
): readonly Problem[] {
  const account = providers[provider];
  if (account === undefined) {
    const known = Object.entries(providers).flatMap(([name, { type }]) => (type === 'pool' ? [] : [name]));
    return [
      errorAt(
        [...at, 'provider'],
        `names provider "${provider}", which the workers do not have`,
        suggest(provider, known) ?? 'Add it to heddle.yaml on the workers.',
      ),
    ];
  }
  // Two pools that wait for each other would wait for ever.
  if (account.type === 'pool')
    return [
      errorAt(
        [...at, 'provider'],
        `names provider "${provider}", whose machines are nodes of pools`,
        'Use the provider that creates them.',
      ),
    ];
  const plugin = registry.provider(account.type);
  const { descriptor, abilities } = plugin;
  if (isReachedByPlugin(plugin))
    return [
      errorAt(
        [...at, 'provider'],
        `names provider "${provider}", whose resources have no log-in, so they cannot be nodes`,
        'Register them as standalone machines: heddle machine add --system none.',
      ),
    ];
  return Object.entries(labels).flatMap(([label, { fields, libraryImage }]) => {
    const path: Path = [...at, 'labels', label, 'fields'];
    const forbidden = forbiddenReferences(fields).map((place) =>
      errorAt(
        [...path, ...place],
        'refers to a secret that pools may not use',
        'The allowed secrets are listed in heddle.yaml of the workers under secrets.allow.',
      ),
    );
    const withoutImage =
      libraryImage === undefined || abilities.includes('uploadImage') || abilities.includes('capture')
        ? []
        : [
            errorAt(
              [...at, 'labels', label, 'libraryImage'],
              `names image "${libraryImage}", but provider "${provider}" of type ${account.type} can neither upload nor capture images`,
              'Set image to the name that the provider uses for an image.',
            ),
          ];
    return [...checkUserFields(descriptor, account, fields, path), ...forbidden, ...withoutImage];
  });
}

function placementsOf(parts: Parts, spec: PoolSpec): PoolPlan['placements'] {
  return Object.fromEntries(
    Object.entries(spec.providerPools).map(([name, { provider, labels }]) => [
      name,
      Object.fromEntries(
        Object.entries(labels).map(([label, offer]) => [label, placementOf(parts, provider, offer)]),
      ),
    ]),
  );
}

function placementOf(
  parts: Parts,
  provider: string,
  { hardware, image = 'default', libraryImage, fields, launchWithin, confirmWithin, slots }: OfferSpec,
): OfferPlacement {
  const account = parts.providers[provider];
  const asked = {
    provider,
    type: account?.type ?? '',
    site: account?.site ?? '',
    flavor: account?.hardware?.[hardware] ?? hardware,
    image: account?.images?.[image] ?? image,
    fields,
    ...(libraryImage === undefined ? {} : { libraryImage }),
  };
  const digested: Json = slots === undefined ? asked : { ...asked, slots };
  const digest = digestOf(digested);
  return {
    ...asked,
    ...(launchWithin === undefined ? {} : { launchWithinMs: milliseconds(launchWithin) }),
    ...patienceFor(parts, provider, confirmWithin),
    digest,
  };
}
