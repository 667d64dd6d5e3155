import { ApplicationFailure } from '@temporalio/common';
import type { Json } from '../../model/json.js';
import type { Labels } from '../../model/cluster/labels.js';
import { jsonBytes, maxPlanBytes, mostSent } from '../../model/carried.js';
import type { PackedPlanRequest, PlanReply, PlanRequest } from '../../model/cluster/messages.js';
import { bootstrapDigest, type PreparingAutomator } from '../../model/plan/facts/digest.js';
import { PlanError, PlanRefused, rejectionTypes, type PlanRejection } from '../../model/plan/plan-error.js';
import { planOperation } from '../../model/plan/plan-operation.js';
import type { PlanningInput } from '../../model/plan/context.js';
import { packPlan, unpackCurrent, type PackedPlan } from '../../model/plan/packed.js';
import type { Plan, ServedPlan } from '../../model/plan/plan.js';
import type { PlannedPlacement, PluginPins } from '../../model/node/placement.js';
import type { ServerFeatures } from '../../model/cluster/limits.js';
import type { ClusterSpec, GroupSpec } from '../../model/cluster/spec.js';
import { isReachedByPlugin } from '../provider/reached-by-plugin.js';
import type { Registry } from '../../plugins/registry.js';
import type { Settings } from '../../schema/config.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { checkFields, checkUserFields } from '../../schema/fields.js';
import { checkTainted } from '../../schema/tainted-fields.js';
import { parseSpec } from '../../schema/cluster/read.js';
import { errorAt, formatProblem, hasErrors, type Path, type Problem } from '../../schema/problem.js';
import { closest } from '../../schema/suggest.js';
import {
  importsOf,
  taskVariables,
  usedVariables,
  type TaskVariables,
} from '../../model/cluster/variables.js';
import { describedCounts, plannedCounts, withCounts } from '../../model/cluster/scaled.js';
import { readImports, type OutputReader } from './imports.js';
import { checkResources } from '../artifact/check.js';
import type { ActivityParts } from '../parts.js';
import type { ProviderAccount } from '../../model/provider-account.js';
import { knownWebhooks } from '../../model/webhook.js';
import { digestOf } from '../digest.js';
import { patienceFor } from '../provider/patience.js';

export interface PlanParts {
  readonly registry: Registry;
  readonly providers: Readonly<Record<string, ProviderAccount>>;
  /** The administrator's fields of automators, by their names. */
  readonly automators?: ActivityParts['automators'];
  readonly features: ServerFeatures;
  readonly settings: Pick<Settings, 'scale' | 'webhooks'>;
  readonly forbiddenReferences: ActivityParts['forbiddenReferences'];
  readonly outputs: OutputReader;
}

/** The activity PLAN. */
export async function servePlan(parts: PlanParts, request: PackedPlanRequest): Promise<PlanReply> {
  const reply = await packedPlan(parts, request).then(
    (plan) => ({ plan }),
    (error: unknown) => {
      const rejected = rejectionOf(error);
      if (rejected === undefined) throw error;
      return { rejected };
    },
  );
  return { ...reply, ...knownWebhooks(parts.settings.webhooks) };
}

/** @throws PlanError if the plan does not fit into messages, before anything is done. */
async function packedPlan(parts: PlanParts, request: PackedPlanRequest): Promise<PackedPlan> {
  const plan = await planCluster(parts, { ...request, current: unpackCurrent(request.current) });
  const packed = packPlan(plan);
  const why = refuseLarge(packed, request.intent.kind === 'delete' ? mostSent : maxPlanBytes);
  if (why !== undefined) throw new PlanError(why);
  return packed;
}

/** Undefined if planning failed for another reason, and may be repeated. */
function rejectionOf(error: unknown): PlanRejection | undefined {
  if (error instanceof PlanError) return { type: typeOf(error), message: describeRefusal(error) };
  if (!(error instanceof ApplicationFailure)) return undefined;
  const type = rejectionTypes.find((name) => name === error.type);
  return type && { type, message: error.message, details: error.details ?? [] };
}

function typeOf(error: PlanError): PlanRejection['type'] {
  if (error instanceof PlanRefused) return 'Refused';
  return error.unknown === undefined ? 'Invalid' : 'NotFound';
}

/** The spec has a limit of its own. */
function refuseLarge({ spec: _spec, ...plan }: PackedPlan, most: number): string | undefined {
  const bytes = jsonBytes(plan);
  if (bytes <= most) return undefined;
  const { kinds, later, placements } = plan;
  const tasks = jsonBytes([kinds, later]);
  const places = jsonBytes(placements);
  const largest =
    tasks >= places
      ? `${tasks} bytes of them are ${kinds.steps.length} different tasks of ${kinds.kinds.length} kinds of nodes; give more groups the same services, or fewer services`
      : `${places} bytes of them are the machines of ${Object.keys(placements).length} groups; give the groups fewer fields, labels and alternatives`;
  return (
    `the plan has ${bytes} bytes as JSON, and the limit is ${most}; ${largest}, ` +
    'or divide the groups among several clusters'
  );
}

/** Checks a spec against plugins and configuration, finds the placements, and plans. No side effects. */
export async function planCluster(parts: PlanParts, input: PlanRequest): Promise<ServedPlan> {
  let variables: TaskVariables = {};
  /** Of what a value stands for: another value of a variable is a change of what uses it. */
  const digest = (value: Json): string => {
    const used = usedVariables(value, variables);
    return digestOf(used === undefined ? value : { value, variables: valuesOf(used) });
  };
  const { features, settings } = parts;
  const { intent, current, again, consent } = input;
  const plan = (spec?: ClusterSpec, placements: PlanningInput['placements'] = {}): ServedPlan => {
    const planned = planOperation({
      intent,
      spec,
      current,
      ...(again === undefined ? {} : { again }),
      ...(consent?.losable === undefined ? {} : { losable: consent.losable }),
      placements,
      digest,
      bootstrapDigest: (services) =>
        bootstrapDigest(automatorsOf(parts), spec?.services ?? {}, services, digest),
    });
    return {
      ...planned,
      digest: planDigest(planned, input.spec as Json | undefined),
      features,
      limits: settings.scale,
      ...releasingOf(parts),
    };
  };
  if (input.spec === undefined) return plan();
  const parsed = parseSpec(input.spec);
  if (!parsed.ok) throw invalid(parsed.problems);
  const { spec: file } = parsed;
  const { spec, scaled } = scaledSpec(file, input);
  const problems = [...checkName(spec, input.clusterName), ...checkAgainstWorker(parts, spec)];
  const read = await readImports(parts.outputs, spec, current.imports);
  problems.push(...read.problems);
  if (hasErrors(problems)) throw invalid(problems);
  variables = taskVariables(spec, read.imports);
  const placements = Object.fromEntries(
    Object.entries(spec.nodes).map(([name, group]) => [
      name,
      placementsOf(parts, group, spec.labels, digest),
    ]),
  );
  const planned = plan(spec, placements);
  checkPlan(planned, consent?.planDigest);
  return {
    ...planned,
    // A cluster records its file; counts of users are recorded beside it.
    ...(planned.spec === undefined ? {} : { spec: file }),
    ...(Object.keys(scaled).length === 0 ? {} : { scaled }),
    plugins: pinsOf(parts, spec, placements),
    ...(Object.keys(read.imports).length === 0 ? {} : { imports: read.imports }),
  };
}

/** Of all that the plan does, and of the spec that is the cluster's from then on. */
function planDigest({ kinds, later, placements, width, widths, left }: Plan, spec: Json | undefined): string {
  return digestOf({ kinds, later, placements, width, widths, left, spec } as unknown as Json);
}

/** @throws PlanRefused if a user saw another plan than this. */
function checkPlan({ digest }: ServedPlan, seen: string | undefined): void {
  if (seen === undefined || seen === digest) return;
  throw new PlanRefused(
    'the saved plan is not what would be done now: the cluster, its machines, the configuration of the workers or a value has changed since. Plan again',
  );
}

/** The spec to plan with: the file, with the counts of groups that users set. @throws PlanError */
function scaledSpec(
  file: ClusterSpec,
  { intent, current }: Pick<PlanRequest, 'intent' | 'current'>,
): { readonly spec: ClusterSpec; readonly scaled: NonNullable<ServedPlan['scaled']> } {
  if (intent.kind === 'scale') checkGroups(file, Object.keys(intent.counts));
  const counts = plannedCounts(intent, current);
  const spec = withCounts(file, counts);
  const scaled = describedCounts(file, counts);
  if (spec === file) return { spec, scaled };
  const parsed = parseSpec(spec);
  if (parsed.ok) return { spec: parsed.spec, scaled };
  const groups = Object.entries(scaled);
  const set = groups.map(([group, { count }]) => `${group}=${count}`).join(', ');
  const why = `with the counts set by scale (${set}), the spec is not valid: ${parsed.problems.map(formatProblem).join('; ')}`;
  const other = `heddle scale ${file.name} ${groups.map(([group]) => `${group}=COUNT`).join(' ')}`;
  throw new PlanError(intent.kind === 'scale' ? why : `${why}; '${other}' sets other counts`);
}

function checkGroups({ name, nodes }: ClusterSpec, groups: readonly string[]): void {
  const known = Object.keys(nodes);
  const missing = groups.find((group) => !Object.hasOwn(nodes, group));
  if (missing === undefined) return;
  throw new PlanError(`cluster ${name} has no group ${missing}; it has ${known.join(', ')}`, {
    word: missing,
    known,
  });
}

function describeRefusal({ message, unknown }: PlanError): string {
  const near = unknown && closest(unknown.word, unknown.known);
  return near === undefined ? message : `${message}. Did you mean "${near}"?`;
}

function valuesOf(variables: TaskVariables): Json {
  return Object.fromEntries(Object.entries(variables).map(([name, { value }]) => [name, value]));
}

/** Providers whose DELETE leaves the machine to someone else. */
function releasingOf({ registry, providers }: PlanParts): Pick<ServedPlan, 'releasing'> {
  const types = new Set(
    registry
      .providers()
      .flatMap(({ descriptor: { name, capabilities } }) => (capabilities.includes('releases') ? [name] : [])),
  );
  const names = Object.keys(providers).filter((name) => types.has(providers[name]?.type ?? ''));
  return names.length === 0 ? {} : { releasing: names };
}

/** The plugins that the spec uses, as this worker has them. */
function pinsOf(
  { registry }: PlanParts,
  { services }: ClusterSpec,
  placements: Readonly<Record<string, readonly PlannedPlacement[]>>,
): PluginPins {
  const names = new Set([
    ...Object.values(placements)
      .flat()
      .map(({ type }) => `provider ${type}`),
    ...Object.values(services).flatMap(({ actions }) =>
      Object.values(actions).map(({ type }) => `automator ${type}`),
    ),
  ]);
  const used = registry.versions().filter(({ type, name }) => names.has(`${type} ${name}`));
  return Object.fromEntries(
    used.map(({ type, name, version, digest, builtIn }) => [
      `${type} ${name}`,
      { version, ...(builtIn ? {} : { digest }) },
    ]),
  );
}

function checkName({ name }: ClusterSpec, clusterName: string): readonly Problem[] {
  return name === clusterName
    ? []
    : [
        errorAt(
          ['name'],
          `is "${name}", but the workflow belongs to cluster "${clusterName}"`,
          `The workflow id of this cluster is cluster/${name}.`,
        ),
      ];
}

function automatorsOf({ registry }: PlanParts): readonly PreparingAutomator[] {
  return registry
    .automators()
    .map(({ descriptor: { name, prepares }, digest }) => ({ name, prepares, digest }));
}

function invalid(problems: readonly Problem[]): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problems.map(formatProblem).join('\n'), 'Invalid', problems);
}

function checkAgainstWorker(parts: PlanParts, spec: ClusterSpec): readonly Problem[] {
  const groups = Object.entries(spec.nodes).flatMap(([name, group]) => checkGroup(parts, name, group));
  const imported = Object.values(importsOf(spec)).flatMap((names) => Object.keys(names));
  const isImported = (variable: string): boolean => imported.includes(variable);
  const actions = Object.entries(spec.services).flatMap(([service, { actions: declared }]) =>
    Object.entries(declared).flatMap(([key, action]) => {
      const path: Path = ['services', service, 'actions', key];
      const plugin = parts.registry.automators().find(({ descriptor }) => descriptor.name === action.type);
      if (plugin === undefined)
        return [
          unknown(
            [...path, 'type'],
            'automator',
            action.type,
            parts.registry.automators().map(({ descriptor }) => descriptor.name),
          ),
        ];
      return [
        ...checkSetUp(parts, plugin.descriptor, [...path, 'type']),
        ...checkFields(plugin.descriptor, 'user', action.fields, [...path, 'fields']).problems,
        ...checkTainted(plugin.descriptor, action.fields, [...path, 'fields'], isImported),
        ...checkReferences(parts, action.fields, [...path, 'fields']),
        ...checkResources(plugin.descriptor, action.fields, [...path, 'fields']),
      ];
    }),
  );
  return [
    ...groups,
    ...actions,
    ...checkReferences(parts, spec.config, ['config']),
    ...checkReferences(parts, (spec.variables ?? {}) as Json, ['variables']),
  ];
}

function checkReferences({ forbiddenReferences }: PlanParts, value: Json, path: Path): readonly Problem[] {
  return forbiddenReferences(value).map((place) =>
    errorAt(
      [...path, ...place],
      'refers to a secret that cluster files may not use here',
      'The allowed secrets are listed in heddle.yaml of the workers under secrets.allow.',
    ),
  );
}

/** Whether an administrator filled in what the automator needs to know of its workers. */
function checkSetUp(parts: PlanParts, descriptor: Descriptor, path: Path): readonly Problem[] {
  const settings = parts.automators?.[descriptor.name]?.fields ?? {};
  const { problems } = checkFields(descriptor, 'admin', settings, ['automators', descriptor.name, 'fields']);
  return problems.map((problem) =>
    errorAt(
      path,
      `names automator "${descriptor.name}", which is not set up on the workers`,
      `In their heddle.yaml: ${formatProblem(problem)}`,
    ),
  );
}

function checkGroup(parts: PlanParts, name: string, group: GroupSpec): readonly Problem[] {
  return choicesOf(group).flatMap((choice, index) => {
    const path: Path = index === 0 ? ['nodes', name] : ['nodes', name, 'alternatives', index - 1];
    const account = parts.providers[choice.provider];
    if (account === undefined)
      return [unknown([...path, 'provider'], 'provider', choice.provider, Object.keys(parts.providers))];
    const plugin = parts.registry.provider(account.type);
    const { descriptor } = plugin;
    if (isReachedByPlugin(plugin)) return [noNodes([...path, 'provider'], choice.provider)];
    return [
      ...checkUserFields(descriptor, account, choice.fields, [...path, 'fields']),
      ...checkReferences(parts, choice.fields, [...path, 'fields']),
    ];
  });
}

/** Services are carried out over SSH. */
function noNodes(path: Path, provider: string): Problem {
  return errorAt(
    path,
    `names provider "${provider}", whose resources have no log-in, so they cannot be nodes`,
    'Register them as standalone machines: heddle machine add --system none.',
  );
}

function unknown(path: Path, what: string, name: string, known: readonly string[]): Problem {
  return errorAt(
    path,
    `names ${what} "${name}", which the workers do not have`,
    `They have: ${known.join(', ') || 'none'}.`,
  );
}

interface Choice {
  readonly provider: string;
  readonly hardware: string;
  readonly image: string;
  readonly fields: GroupSpec['fields'];
}

function choicesOf(group: GroupSpec): readonly Choice[] {
  const { provider, hardware, image, fields } = group;
  const first: Choice = { provider, hardware, image, fields };
  return [first, ...(group.alternatives ?? [])];
}

function placementsOf(
  parts: PlanParts,
  group: GroupSpec,
  labels: Labels | undefined,
  digest: (value: Json) => string,
): readonly PlannedPlacement[] {
  return choicesOf(group).map(({ provider, hardware, image, fields }) => {
    const account = parts.providers[provider];
    const asked = {
      provider,
      type: account?.type ?? '',
      site: account?.site ?? '',
      flavor: account?.hardware?.[hardware] ?? hardware,
      image: account?.images?.[image] ?? image,
      fields,
    };
    return {
      ...asked,
      ...patienceFor(parts, provider, group.confirmWithin),
      ...(labels === undefined ? {} : { labels }),
      // Labels are not part of it: a changed label must not replace machines.
      digest: digest(asked),
    };
  });
}
