import { resolve } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { z } from 'zod';
import { isSameBasis, type Basis } from '../../../model/cluster/consent.js';
import type { Json } from '../../../model/json.js';
import { operationsOf } from '../../../model/cluster/operation.js';
import type { ClusterSpec } from '../../../model/cluster/spec.js';
import { isEmptyPlan } from '../../../model/plan/plan.js';
import { maxFileBytes } from '../../../schema/cluster/compose.js';
import { rebindSpec } from '../../../schema/cluster/read.js';
import { declaredVariables } from '../../../schema/cluster/bind.js';
import type { VariableDeclaration } from '../../../schema/cluster/variable.js';
import { ProblemsError } from '../../../schema/problem.js';
import { isPresent, readTextFile, wordsForWriteError } from '../../../schema/read-text.js';
import { quoteWords } from '../../../ssh/quote.js';
import { cleanLine } from '../../clean-text.js';
import type { ScopeOptions } from '../../configuration.js';
import { CliError } from '../../errors.js';
import { formatCount, formatMoment } from '../../format.js';
import { completeVariables, type VariableOptions } from '../../given-variables.js';
import type { Session } from '../../session.js';
import { withoutSecretValues } from '../secret-values.js';
import { describeCounts } from './plan-text.js';
import type { Planned } from './preview.js';

const names = z.array(z.string()).min(1).optional();

const savedPlanSchema = z.strictObject({
  heddlePlan: z.literal(1),
  /** The file that was planned. */
  file: z.string(),
  savedAt: z.iso.datetime(),
  /** The cluster that was planned for, and its last operation. */
  basedOn: z.strictObject({
    clusterUid: z.string().exactOptional(),
    operation: z.int().min(0),
    state: z.string().exactOptional(),
    retry: z.string().exactOptional(),
  }),
  rolling: z.int().min(1).optional(),
  nodes: names,
  services: names,
  planDigest: z.string(),
  /** For people. */
  summary: z.string(),
  /** Without the values of secret variables. */
  spec: z.unknown(),
});

type SavedPlan = z.output<typeof savedPlanSchema>;

/** A saved plan, with its spec complete again. */
export interface ReadPlan extends Omit<SavedPlan, 'spec'> {
  readonly spec: ClusterSpec;
}

interface Planning {
  readonly file: string;
  readonly spec: ClusterSpec;
  readonly variables: Readonly<Record<string, VariableDeclaration>>;
  readonly planned: Planned;
  readonly options: ScopeOptions & { readonly rolling?: number };
}

/**
 * Writes what `apply` needs to do exactly what was shown.
 * @throws CliError Invalid if the file cannot be written, or is there and is not a saved plan.
 */
export async function savePlan(
  path: string,
  { file, spec, variables, planned: { preview }, options: { rolling, nodes, services } }: Planning,
): Promise<void> {
  if (isPresent(path) && savedPlanText(path) === undefined)
    throw new CliError(
      'Invalid',
      `${path} exists, and is not a saved plan; save the plan under another name`,
    );
  const saved: SavedPlan = {
    heddlePlan: 1,
    file: resolve(file),
    savedAt: new Date().toISOString(),
    basedOn: preview.basis,
    rolling,
    nodes: nodes?.slice(),
    services: services?.slice(),
    planDigest: preview.plan.digest,
    summary: isEmptyPlan(preview.plan) ? 'no changes' : describeCounts(preview),
    spec: withoutSecretValues(spec, variables),
  };
  await writeFileAtomic(path, `${JSON.stringify(saved)}\n`, { mode: 0o600 }).catch((cause: unknown) => {
    throw new CliError('Invalid', `the plan cannot be saved as ${path}: ${wordsForWriteError(cause)}`, {
      cause,
    });
  });
}

/** Options that a saved plan contains already, or that would change it. */
const fixed = ['nodes', 'services', 'rolling', 'createOnly', 'queue'] as const;

/**
 * Reads a saved plan; undefined if the file is none. Secret values are taken from the command line, the
 * environment or a terminal, as for a cluster file.
 * @throws CliError Invalid, Usage; ProblemsError
 */
export async function readSavedPlan(
  file: string,
  options: VariableOptions & { readonly [Option in (typeof fixed)[number]]?: unknown },
): Promise<ReadPlan | undefined> {
  const text = savedPlanText(file);
  if (text === undefined) return undefined;
  const { spec: written, ...plan } = parse(text, file);
  const given = fixed.find((option) => options[option] !== undefined);
  if (given !== undefined) {
    const flag = `--${given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new CliError('Usage', `${file} is a saved plan, which ${flag} would change; plan again with it`, {
      next: replan(plan, file),
    });
  }
  const variables = declaredVariables(written as Json);
  const named = (options.var ?? []).find(([name]) => !Object.hasOwn(variables, name));
  if (named !== undefined)
    throw new CliError(
      'Usage',
      `${file} is a saved plan, which has the values of all variables but secret ones; --var ${named[0]} cannot change it`,
      { next: replan(plan, file) },
    );
  const reading = rebindSpec(written as Json, await completeVariables(variables, options));
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  return { ...plan, spec: reading.spec };
}

/** The text of a file that is a saved plan; undefined for any other. */
export function savedPlanText(file: string): string | undefined {
  const read = readTextFile(file, 2 * maxFileBytes);
  return read.ok && /^\uFEFF?\s*\{\s*"heddlePlan"/.test(read.text) ? read.text : undefined;
}

function parse(text: string, file: string): SavedPlan {
  try {
    return savedPlanSchema.parse(JSON.parse(text.replace(/^\uFEFF/, '')));
  } catch (cause) {
    throw new CliError(
      'Invalid',
      `${file} is damaged, or was saved by another version; save the plan again`,
      { cause },
    );
  }
}

/** @throws CliError Refused unless the plan is still what `apply` would do. */
export async function checkSavedPlan(
  { client }: Session,
  path: string,
  saved: Omit<ReadPlan, 'spec'>,
  { name, preview }: Pick<Planned, 'name' | 'preview'>,
): Promise<void> {
  const { basedOn, planDigest, summary, savedAt } = saved;
  const { basis, plan } = preview;
  if (basedOn.clusterUid === basis.clusterUid && isSameBasis(basedOn, basis) && plan.digest === planDigest)
    return;
  const status = await client.summary(name).catch(() => undefined);
  const since = (status === undefined ? [] : operationsOf(status)).flatMap((operation) =>
    Number(operation.id) > basedOn.operation
      ? [
          `operation ${operation.id} (${cleanLine(operation.what)}) by ${cleanLine(operation.by)}: ${operation.state}`,
        ]
      : [],
  );
  const lines = [
    `the plan in ${path} is not what apply would do now, and nothing was changed`,
    `saved ${formatMoment(savedAt)}: ${cleanLine(summary)}`,
    `now: ${isEmptyPlan(plan) ? 'no changes' : describeCounts(preview)}`,
    ...changesSince(basedOn, basis, since),
  ];
  throw new CliError('Refused', lines.join('\n'), { next: replan(saved, path) });
}

/** @param since each operation that began since. */
export function changesSince(basedOn: Basis, basis: Basis, since: readonly string[]): readonly string[] {
  if (basedOn.clusterUid !== undefined && basedOn.clusterUid !== basis.clusterUid)
    return ['The cluster was deleted since, or is another one.'];
  if (since.length > 0) return since.slice(0, 5).map((line) => `since then: ${line}`);
  if (basis.operation !== basedOn.operation)
    return [`since then: ${formatCount(basis.operation - basedOn.operation, 'operation')} requested`];
  if (!isSameBasis(basedOn, basis))
    return [`The ${basedOn.state ?? 'last'} operation has since continued or ended.`];
  return ['No operation began since; a machine, a value or the configuration of the workers has changed.'];
}

function replan(
  { file, rolling, nodes, services }: Pick<SavedPlan, 'file' | 'rolling' | 'nodes' | 'services'>,
  path: string,
): string {
  const options = Object.entries({
    rolling: rolling?.toString(),
    nodes: nodes?.join(','),
    services: services?.join(','),
  });
  const scope = options.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  return cleanLine(`heddle plan ${quoteWords([file, '--out', path, ...scope])}`);
}
