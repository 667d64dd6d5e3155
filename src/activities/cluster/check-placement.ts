import type { PlacementCheck, PlacementProblem } from '../../model/cluster/placement-check.js';
import { findReferences, isCommand } from '../../model/secret-reference.js';
import { isPluginError } from '../../plugins/errors.js';
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
  { clusterId, provider, path, flavor, image }: PlacementCheck,
  attempt: Attempt,
): Promise<readonly PlacementProblem[]> {
  attempt.at(`asks what provider ${provider.name} offers`);
  try {
    const view = await viewAccount(parts, lists, clusterId, provider, attempt);
    const { flavors, images, refused = {} } = await view.offers({ flavor, image: image ?? 'default' });
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
    ];
  } catch (error) {
    return [problemOf(error, [...path, provider.type === 'pool' ? 'pool' : 'provider'])];
  }
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
      try {
        const { secrets } = await parts.resolveSecrets(
          { secret: reference },
          { writtenBy: 'user', place: 'it' },
        );
        attempt.hide(secrets);
      } catch (error) {
        problems.push(problemOf(error, [...path, ...place]));
      }
    }
  }
  return problems;
}

/** Wrong settings are problems of the plan; anything else may pass until the task. */
function problemOf(error: unknown, path: PlacementProblem['path']): PlacementProblem {
  if (!isPluginError(error) || (error.kind !== 'Invalid' && error.kind !== 'Auth')) throw error;
  return errorAt(path, error.message.replace(/^it: /, ''));
}

function errorAt(path: PlacementProblem['path'], wrong: string, right?: string): PlacementProblem {
  return { severity: 'error', path, wrong, ...(right === undefined ? {} : { right }) };
}
