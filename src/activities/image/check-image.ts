import { accountOfNode } from '../../model/image/account-of-node.js';
import { createHash } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import type { CheckedImage, CheckImageRequest } from '../../model/image/messages.js';
import { withAccountOf } from '../../model/image/node.js';
import { type CommandSource, recipeGroup, type ImageSpec, sourceOf } from '../../model/image/spec.js';
import type { Json } from '../../model/json.js';
import { stableJson } from '../../model/node/payload.js';
import type { Registry } from '../../plugins/registry.js';
import { checkImage as checkImageSpec } from '../../schema/image/check.js';
import type { Settings } from '../../schema/config.js';
import { parseImage } from '../../schema/image/read.js';
import { errorAt, formatProblem, hasErrors, type Path, type Problem } from '../../schema/problem.js';
import { suggest } from '../../schema/suggest.js';
import type { ProviderAccount } from '../../model/provider-account.js';
import { checkCommandVariables } from './check-variables.js';
import { findNode, type NodeLeases } from './lease-node.js';

export interface CheckParts {
  readonly registry: Registry;
  readonly providers: Readonly<Record<string, ProviderAccount>>;
  readonly settings: Pick<Settings, 'builder'>;
  /** Asks for nodes that images are made of. */
  readonly leases: NodeLeases;
}

/**
 * The activity CHECK_IMAGE: whether an image can be made so with what workers have. What a recipe's services
 * are is for PLAN to judge.
 */
export async function checkImage(
  parts: CheckParts,
  { name, spec: written, made }: CheckImageRequest,
): Promise<CheckedImage> {
  const reading = parseImage(written);
  if (!reading.ok) throw invalid(reading.problems);
  const { spec: asWritten } = reading;
  const placement = made === true ? undefined : await placementOfNode(parts.leases, asWritten);
  const spec = withAccountOf(asWritten, placement);
  const problems = [
    ...(spec.name === name
      ? []
      : [errorAt(['name'], `is "${spec.name}", but the workflow belongs to image "${name}"`)]),
    ...(placement === undefined ? [] : checkImageSpec(spec)),
    ...checkUses(parts, spec),
  ];
  if (hasErrors(problems)) throw invalid(problems);
  const accounts = Object.fromEntries(
    usesOf(spec).map(({ provider }) => [
      provider,
      { type: parts.providers[provider]?.type ?? '', site: parts.providers[provider]?.site ?? '' },
    ]),
  );
  const source = sourceOf(spec);
  const site =
    source.kind === 'command'
      ? source.site
      : (accounts[source.cluster.nodes[recipeGroup]?.provider ?? '']?.site ?? '');
  return {
    spec: asWritten,
    placement,
    accounts,
    site,
    recipe: createHash('sha256')
      .update(stableJson(sourceOf(asWritten) as unknown as Json))
      .digest('hex')
      .slice(0, 16),
  };
}

async function placementOfNode(leases: NodeLeases, spec: ImageSpec): Promise<CheckedImage['placement']> {
  const source = sourceOf(spec);
  return source.kind === 'command' || source.from === undefined
    ? undefined
    : (await findNode(leases, source.from)).placement;
}

interface Use {
  readonly provider: string;
  readonly path: Path;
  /** Methods that its plugin must have for it. */
  readonly needs: readonly string[];
}

function usesOf(spec: ImageSpec): readonly Use[] {
  const { uploads, validate } = spec;
  const source = sourceOf(spec);
  const group = source.kind === 'recipe' ? source.cluster.nodes[recipeGroup] : undefined;
  const away = uploads.length === 0 ? [] : ['downloadImage'];
  const uses: readonly Use[] = [
    ...(group === undefined
      ? []
      : [
          {
            provider: group.provider,
            path: ['recipe', source.kind === 'recipe' && source.from !== undefined ? 'from' : 'provider'],
            needs: ['capture', 'imageExists', 'deleteImage', ...away],
          },
        ]),
    ...uploads.map(({ provider }, index) => ({
      provider,
      path: ['uploads', index, 'provider'],
      needs: ['uploadImage', 'deleteImage'],
    })),
    ...(validate === false
      ? []
      : [{ provider: validate.provider, path: ['validate', 'provider'], needs: [] }]),
  ];
  // The node of an image that exists is not asked.
  return uses.filter(({ provider }) => provider !== accountOfNode);
}

function checkUses({ registry, providers, settings }: CheckParts, spec: ImageSpec): readonly Problem[] {
  const ofProviders = usesOf(spec).flatMap(({ provider, path, needs }) => {
    const account = providers[provider];
    if (account === undefined)
      return [
        errorAt(
          path,
          `names provider "${provider}", which the workers do not have`,
          suggest(provider, Object.keys(providers)) ?? 'Add it to heddle.yaml on the workers.',
        ),
      ];
    const lacks = needs.filter((need) => !registry.provider(account.type).abilities.includes(need));
    return lacks.length === 0
      ? []
      : [
          errorAt(
            path,
            `names provider "${provider}" of type ${account.type}, which has no ${lacks.join(', ')}`,
            'Use another provider.',
          ),
        ];
  });
  const source = sourceOf(spec);
  if (source.kind === 'recipe') return [...ofProviders, ...checkSystem(registry, source.system)];
  return [...ofProviders, ...checkCommand(settings.builder, source)];
}

function checkCommand(
  { commands }: Settings['builder'],
  { run, environment }: CommandSource,
): readonly Problem[] {
  const command = Object.hasOwn(commands, run) ? commands[run] : undefined;
  if (command !== undefined) return checkCommandVariables(run, command, environment);
  const names = Object.keys(commands);
  return [
    errorAt(
      ['command', 'run'],
      `names command "${run}", which is not in heddle.yaml under builder.commands`,
      suggest(run, names) ?? `It has: ${names.join(', ') || 'none'}.`,
    ),
  ];
}

function checkSystem(registry: Registry, system: string | null): readonly Problem[] {
  if (system === null) return [];
  const plugin = registry.automators().find(({ descriptor }) => descriptor.name === system);
  return plugin?.abilities.includes('preCapture') === true
    ? []
    : [
        errorAt(
          ['recipe', 'system'],
          `names automator "${system}", which does not support the systems of machines`,
          'Use linux, or none.',
        ),
      ];
}

function invalid(problems: readonly Problem[]): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problems.map(formatProblem).join('\n'), 'Invalid', problems);
}
