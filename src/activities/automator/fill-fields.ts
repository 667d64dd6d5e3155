import { evaluate, type KnownNode, type Scope } from '../../model/expression/evaluate.js';
import { ExpressionError, fillText } from '../../model/expression/fill.js';
import { taintOf } from '../../model/expression/origin.js';
import { isExpression, splitText, textsIn, type Expression } from '../../model/expression/parse.js';
import { isJsonObject, pointerBelow, type Json, type JsonObject } from '../../model/json.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import type { Task } from '../../model/node/task.js';
import { PluginError } from '../../plugins/errors.js';
import type { Attempt } from '../attempt.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { formatProblem } from '../../schema/problem.js';
import { checkTainted } from '../../schema/tainted-fields.js';
import type { ActivityParts } from '../parts.js';

interface Filling {
  readonly task: Task;
  readonly request: TaskRequest;
  readonly attempt: Pick<Attempt, 'hide'>;
  readonly descriptor: Pick<Descriptor, 'fields'>;
}

interface Filled {
  readonly fields: JsonObject;
  /** JSON Pointers to what holds values that no author of the cluster file wrote. */
  readonly literal: readonly string[];
}

/**
 * The fields of a service's action with values in the place of secret references and expressions.
 * @throws PluginError Auth for a secret that cannot be read, Invalid for an expression without
 * a value, and for a tainted one in code.
 */
export async function fillFields(
  parts: Pick<ActivityParts, 'resolveSecrets'>,
  filling: Filling,
  fields: JsonObject,
): Promise<Filled> {
  const { task, request, attempt, descriptor } = filling;
  const service = task.service?.name ?? '-';
  const place = `fields of ${task.taskName} of ${service}`;
  const { variables = {} } = request;
  const isImported = (name: string): boolean =>
    Object.hasOwn(variables, name) && variables[name]?.imported === true;
  // The plan has checked it with the plugin of that time.
  const wrong = checkTainted(descriptor, fields, ['services', service, 'fields'], isImported);
  if (wrong.length > 0) throw new PluginError('Invalid', wrong.map(formatProblem).join('; '));
  const literal = literalTexts(fields, isImported);
  const { value, secrets } = await parts.resolveSecrets(fields, { writtenBy: 'user', place });
  attempt.hide(secrets);
  const resolved = isJsonObject(value) ? value : {};
  if (textsIn(fields).length === 0) return { fields: resolved, literal };
  const scope = await scopeOf(parts, filling);
  const valueOf = (expression: Expression): Json => {
    try {
      return refuseReferences(evaluate(expression, scope));
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      throw new PluginError('Invalid', `${place}: ${expression.written} has no value: ${error.message}`);
    }
  };
  return { fields: fill(fields, resolved, valueOf) as JsonObject, literal };
}

/** Texts with tainted values or secrets, and references to secrets. */
function literalTexts(
  written: Json,
  isImported: (variable: string) => boolean,
  pointer = '',
): readonly string[] {
  if (typeof written === 'string') {
    const isLiteral = splitText(written).some(
      (part) =>
        isExpression(part) &&
        // Of variables, only secrets and those of other clusters are not yet put in.
        (taintOf(part, isImported) !== undefined || (part.words[0] === 'var' && part.mustBeWord !== true)),
    );
    return isLiteral ? [pointer] : [];
  }
  if (isJsonObject(written) && typeof written['secret'] === 'string') return [pointer];
  if (typeof written !== 'object' || written === null) return [];
  return Object.entries(written).flatMap(([key, item]) =>
    literalTexts((item ?? null) as Json, isImported, pointerBelow(pointer, key)),
  );
}

/**
 * What nodes and other clusters say is data: a reference in it counts for nothing. @throws ExpressionError
 */
function refuseReferences(value: Json): Json {
  if (isJsonObject(value) && ['secret', 'resource'].some((key) => Object.hasOwn(value, key)))
    throw new ExpressionError('it is a reference, which is allowed only in the cluster file');
  if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) refuseReferences((item ?? null) as Json);
  return value;
}

/** Fills what the user wrote. What stands in the place of a reference is not the user's text. */
function fill(written: Json, resolved: Json, valueOf: (expression: Expression) => Json): Json {
  if (typeof written === 'string') return fillText(written, valueOf, (literal) => literal);
  if (Array.isArray(written) && Array.isArray(resolved))
    return written.map((item: Json, index) => fill(item, (resolved[index] ?? null) as Json, valueOf));
  if (!isJsonObject(written) || !isJsonObject(resolved)) return resolved;
  return Object.fromEntries(
    Object.entries(written).map(([key, item]) => [key, fill(item, resolved[key] ?? null, valueOf)]),
  );
}

async function scopeOf(
  parts: Pick<ActivityParts, 'resolveSecrets'>,
  { task, request, attempt }: Filling,
): Promise<Scope> {
  const variables = request.variables ?? {};
  const byOrigin = (imported: boolean): JsonObject =>
    Object.fromEntries(
      Object.entries(variables)
        .filter(([, variable]) => (variable.imported === true) === imported)
        .map(([name, { value }]) => [name, value]),
    );
  const own = byOrigin(false);
  const { value, secrets } = await parts.resolveSecrets(own, { writtenBy: 'user', place: 'variables' });
  const values: JsonObject = { ...byOrigin(true), ...(isJsonObject(value) ? value : {}) };
  const hidden = Object.entries(variables).flatMap(([name, { secret }]) =>
    secret === true ? textsOf(values[name] ?? null) : [],
  );
  attempt.hide([...secrets, ...hidden]);
  const { service: _service, provider: _provider, ...node } = task.config;
  return {
    variables: values,
    node: { ...node, id: task.nodeId },
    nodes: Object.fromEntries(
      Object.entries(task.nodes).map(([id, { services, ...peer }]): [string, KnownNode] => [
        id,
        { nodenum: peer.nodenum, services, values: { ...peer, id } },
      ]),
    ),
  };
}

function textsOf(value: Json): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => textsOf(item));
  if (isJsonObject(value)) return Object.values(value).flatMap((item) => textsOf(item ?? null));
  return typeof value === 'string' ? [value] : [];
}
