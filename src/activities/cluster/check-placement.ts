import {
  isKeyOfCreated,
  type NeededMachines,
  type PlacementCheck,
  type PlacementProblem,
} from '../../model/cluster/placement-check.js';
import { findReferences, isCommand, isLocalSecret, type SecretOrigin } from '../../model/secret-reference.js';
import type { AccountOffers } from '../../plugins/contract.js';
import { isPluginError } from '../../plugins/errors.js';
import { loginReferences } from '../../plugins/login-references.js';
import { suggest } from '../../schema/suggest.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { viewAccount } from '../provider/account-view.js';
import type { SharedLists } from '../provider/shared-lists.js';

/**
 * The activity CHECK_PLACEMENT: what only workers of a site know of a plan. Opens the account and compares
 * what it offers, and reads the secrets of the group's actions. It changes nothing.
 */
export async function checkPlacement(
  parts: ActivityParts,
  lists: SharedLists,
  check: PlacementCheck,
  attempt: Attempt,
): Promise<{ readonly problems: readonly PlacementProblem[] }> {
  const problems = [
    ...(await checkAccount(parts, lists, check, attempt)),
    ...(await checkSecrets(parts, check, attempt)),
  ];
  return { problems };
}

async function checkAccount(
  parts: ActivityParts,
  lists: SharedLists,
  check: PlacementCheck,
  attempt: Attempt,
): Promise<readonly PlacementProblem[]> {
  const { clusterId, provider, path, flavor, image, creates } = check;
  attempt.at(`asks what provider ${provider.name} offers`);
  try {
    const view = await viewAccount(parts, lists, clusterId, provider, attempt);
    const {
      flavors,
      images,
      refused = {},
      free,
    } = await view.offers({ flavor, image: image ?? 'default' }, (key) => isKeyOfCreated(check, key));
    const refuse = (key: string, name: string, known: readonly string[] | undefined, reason?: string) => {
      const wrong = `provider ${provider.name} has no ${key} ${JSON.stringify(name)}`;
      if (reason !== undefined) return [errorAt([...path, key], `${wrong}: ${attempt.redact(reason)}`)];
      if (known === undefined || known.includes(name)) return [];
      const right = suggest(name, known) ?? `It has: ${known.slice(0, 20).join(', ') || 'none'}.`;
      return [errorAt([...path, key], wrong, right)];
    };
    return [
      ...refuse(provider.type === 'pool' ? 'label' : 'hardware', flavor, flavors, refused.flavor),
      ...(image === undefined ? [] : refuse('image', image, images, refused.image)),
      ...(free === undefined || creates === undefined ? [] : checkFree(free, creates, { provider, path })),
      ...(creates === undefined
        ? []
        : await checkLogins(parts, check, { attempt, machines: free?.machines })),
    ];
  } catch (error) {
    return [problemOf(error, [...path, provider.type === 'pool' ? 'pool' : 'provider'])];
  }
}

/** Existing machines, without those that nodes have. */
function checkFree(
  free: NonNullable<AccountOffers['free']>,
  needed: NeededMachines,
  { provider, path }: Pick<PlacementCheck, 'provider' | 'path'>,
): readonly PlacementProblem[] {
  const [what, has, needs] =
    needed.ofKind > free.ofKind
      ? [' of this hardware and image', free.ofKind, needed.ofKind]
      : ['', free.all, needed.all];
  if (needs <= has) return [];
  const wrong = `provider ${provider.name} has ${has} free ${has === 1 ? 'machine' : 'machines'}${what}, and ${needs} are needed`;
  return [
    errorAt(
      [...path, 'count'],
      wrong,
      'Lower the count, add machines to the account, or delete nodes that use them.',
    ),
  ];
}

/** Most problems with the logins of one account. */
const mostLogins = 10;

/**
 * Reads the secrets of the logins to the machines that CREATE can allocate, and those of the whole account,
 * but runs no command and asks no Vault.
 */
async function checkLogins(
  parts: ActivityParts,
  { provider, path }: PlacementCheck,
  {
    attempt,
    machines = [],
  }: { readonly attempt: Attempt; readonly machines?: readonly string[] | undefined },
): Promise<readonly PlacementProblem[]> {
  if (provider.type === 'pool') return [];
  const own = await loginReferences(parts.providers, provider.name, parts.registry.providers());
  const problems: PlacementProblem[] = [];
  for (const [secret, places] of own.references) {
    const place = places.find(({ machine }) => machine === undefined || machines.includes(machine));
    if (place === undefined || problems.length >= mostLogins || !isLocalSecret(secret)) continue;
    const origin = { writtenBy: 'administrator', place: place.field } as const;
    const unreadable = await whyUnreadable(parts, secret, { origin, path: [...path, 'provider'], attempt });
    if (unreadable !== undefined) problems.push(unreadable);
  }
  return problems;
}

async function checkSecrets(
  parts: ActivityParts,
  { values }: PlacementCheck,
  attempt: Attempt,
): Promise<readonly PlacementProblem[]> {
  const problems: PlacementProblem[] = [];
  for (const { path, value } of values) {
    for (const { reference, path: place } of findReferences(value)) {
      // Running a command may have effects, and only a task shall have them.
      if (isCommand(reference)) continue;
      const origin = { writtenBy: 'user', place: 'it' } as const;
      const unreadable = await whyUnreadable(parts, reference, {
        origin,
        path: [...path, ...place],
        attempt,
      });
      if (unreadable !== undefined) problems.push(unreadable);
    }
  }
  return problems;
}

/** Reads one secret. Undefined if that succeeds. */
async function whyUnreadable(
  parts: ActivityParts,
  secret: string,
  { origin, path, attempt }: SecretOfPlan,
): Promise<PlacementProblem | undefined> {
  try {
    const { secrets } = await parts.resolveSecrets({ secret }, origin);
    attempt.hide(secrets);
    return undefined;
  } catch (error) {
    return problemOf(error, path);
  }
}

interface SecretOfPlan {
  readonly origin: SecretOrigin;
  /** Where the plan shows the problem. */
  readonly path: PlacementProblem['path'];
  readonly attempt: Attempt;
}

/** Wrong settings are problems of the plan; anything else may pass until the task. */
function problemOf(error: unknown, path: PlacementProblem['path']): PlacementProblem {
  if (!isPluginError(error) || (error.kind !== 'Invalid' && error.kind !== 'Auth')) throw error;
  const { message, remedy } = error;
  const right = remedy === undefined ? undefined : `${remedy.slice(0, 1).toUpperCase()}${remedy.slice(1)}.`;
  return errorAt(path, message.replace(/^it: /, ''), right);
}

function errorAt(path: PlacementProblem['path'], wrong: string, right?: string): PlacementProblem {
  return { severity: 'error', path, wrong, ...(right === undefined ? {} : { right }) };
}
