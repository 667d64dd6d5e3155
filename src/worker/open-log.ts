import { hostname } from 'node:os';
import { pino, stdTimeFunctions, type Logger } from 'pino';
import type { EngineKind } from '../model/node/failure.js';

/** Bytes that wait to be written at most; further lines are lost while they cannot be. */
const waitingBytes = 16 * 1024 * 1024;

/**
 * The log of a worker, on standard output: a JSON object a line. Lines that cannot be written,
 * such as to a full disk, are lost: they must not end the tasks of the worker.
 */
export function openLog(about: Readonly<Record<string, unknown>>): Logger {
  const destination = pino.destination({ fd: 1, sync: true, maxLength: waitingBytes });
  destination.on('error', () => undefined);
  return pino(
    {
      level: 'info',
      base: { worker: `${process.pid}@${hostname()}`, ...about },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }), log: attributesOf },
    },
    destination,
  );
}

/** What the SDK calls otherwise; undefined is left out: a task token lets its holder complete the task. */
const names: Readonly<Record<string, string | undefined>> = {
  workflowId: 'workflow',
  workflowRunId: 'run',
  runId: 'run',
  activityType: 'activity',
  why: 'reason',
  taskToken: undefined,
  isLocal: undefined,
  sdkComponent: undefined,
};

/** One name for each thing, whoever writes the line, and the reason as a text. */
export function attributesOf(line: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(line).flatMap(([name, value]): (readonly [string, unknown])[] => {
      if (name === 'error') return reasonOf(value);
      const known = Object.hasOwn(names, name) ? names[name] : name;
      return known === undefined ? [] : [[known, value]];
    }),
  );
}

/** The stack only of what is no expected failure: the kind tells which. */
function reasonOf(error: unknown): (readonly [string, unknown])[] {
  if (!(error instanceof Error)) return [['reason', error]];
  const kind = 'type' in error && typeof error.type === 'string' ? error.type : undefined;
  const isExpected =
    kind !== undefined && kind !== ('Internal' satisfies EngineKind) && !kind.endsWith('Error');
  return [
    ['reason', error.message],
    ...(kind === undefined ? [] : [['kind', kind] as const]),
    ...(isExpected ? [] : [['stack', withCause(error)] as const]),
  ];
}

function withCause({ stack, cause }: Error): string {
  return [stack ?? '', ...(cause instanceof Error ? [`caused by ${cause.stack ?? cause.message}`] : [])].join(
    '\n',
  );
}
