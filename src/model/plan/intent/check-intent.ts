import { isJsonObject, type Json } from '../../json.js';
import { operationKinds } from '../../cluster/operation.js';

const maxNames = 10_000;
const maxCommand = 64 * 1024;

/**
 * What is wrong with an intent that a client sent; undefined if it is valid. What it names is the
 * planner's to check.
 */
export function checkIntent(intent: unknown): string | undefined {
  if (!isJsonObject(intent as Json))
    return 'intent: must be an object such as {"kind": "restart", "services": ["web"]}';
  const { kind, width, services, nodes, command, timeoutMs, restart, sudo } = intent as Readonly<
    Record<string, unknown>
  >;
  const known: readonly string[] = operationKinds.filter((name) => name !== 'apply' && name !== 'delete');
  if (typeof kind !== 'string' || !known.includes(kind))
    return `intent.kind: is ${JSON.stringify(kind) ?? 'missing'}; it must be one of ${known.join(', ')}`;
  return (
    checkWidth(width) ??
    (['start', 'stop', 'restart', 'reconfigure'].includes(kind)
      ? checkNames('services', services)
      : undefined) ??
    (kind === 'replace' ? checkNames('nodes', nodes, 1) : undefined) ??
    (nodes === undefined ? undefined : checkNames('nodes', nodes, 1)) ??
    (kind === 'exec' ? checkCommand(command) : undefined) ??
    checkFlag('restart', restart) ??
    checkFlag('sudo', sudo) ??
    checkTime(timeoutMs)
  );
}

export function checkWidth(width: unknown): string | undefined {
  if (width === undefined || (typeof width === 'number' && Number.isInteger(width) && width >= 1))
    return undefined;
  return `width: is ${JSON.stringify(width)}; it must be the number of nodes that are disturbed at once, 1 or more`;
}

function checkNames(key: string, names: unknown, least = 0): string | undefined {
  const wrong =
    !Array.isArray(names) ||
    names.length < least ||
    names.length > maxNames ||
    names.some((name) => typeof name !== 'string' || name === '' || name.length > 200);
  return wrong
    ? `intent.${key}: must be a list of ${least === 0 ? '' : `at least ${least} `}names`
    : undefined;
}

function checkCommand(command: unknown): string | undefined {
  if (typeof command !== 'string' || command.trim() === '')
    return 'intent.command: is empty; it must be a shell command';
  return command.length > maxCommand
    ? `intent.command: has ${command.length} characters; the limit is ${maxCommand}. Move it to a file, or make it a service's action.`
    : undefined;
}

function checkFlag(key: string, value: unknown): string | undefined {
  return value === undefined || value === true
    ? undefined
    : `intent.${key}: is ${JSON.stringify(value)}; it must be true or absent`;
}

function checkTime(timeoutMs: unknown): string | undefined {
  const fine =
    timeoutMs === undefined ||
    (typeof timeoutMs === 'number' &&
      Number.isInteger(timeoutMs) &&
      timeoutMs >= 1 &&
      timeoutMs <= 30 * 86_400_000);
  return fine
    ? undefined
    : `intent.timeoutMs: is ${JSON.stringify(timeoutMs)}; it must be a number of milliseconds, at most 30 days`;
}
