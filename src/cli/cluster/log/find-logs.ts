import { operationKey } from '../../../model/names.js';
import { dayOf, isPart, type LogArchive, type StoredLog } from '../../../store/store.js';

/** The parts of a log's name: one run of one task, written by one worker. */
export interface LogSource {
  readonly stored: StoredLog;
  readonly node: string;
  /** Number of the operation. */
  readonly operation: string;
  readonly incarnation: number;
  /** Absent for tasks about the machine. */
  readonly service?: string;
  readonly action: string;
  readonly run: number;
}

/** Which logs of a cluster are wanted. */
export interface LogFilter {
  readonly clusterUid: string;
  readonly node?: string | undefined;
  /** Default: any. */
  readonly isNode?: ((node: string) => boolean) | undefined;
  /** Number of the operation. */
  readonly operation?: string | undefined;
  /** After a reset, two operations may have had the number. Default: any. */
  readonly operationUid?: string | undefined;
  readonly service?: string | undefined;
  readonly action?: string | undefined;
}

const namePattern =
  /^(?<operation>\d+(?=-)|[^.]+)[^.]*\.(?<incarnation>\d+)\.(?<service>.+)\.(?<action>[A-Z]+)\.(?<run>\d+)\.log$/;

/** The logs of a day that pass the filter. */
export async function findLogs(
  archive: LogArchive,
  { clusterUid, node, isNode = () => true, operation, operationUid: uid, service, action }: LogFilter,
  day: string,
): Promise<readonly LogSource[]> {
  if (node !== undefined && !isPart(node)) return [];
  const file =
    operation === undefined || uid === undefined ? operation : `${operationKey({ id: operation, uid })}.`;
  const found = await archive.find({ clusterUid, day, nodeId: node, file });
  return found
    .flatMap(sourceOf)
    .filter(
      (source) =>
        isNode(source.node) &&
        (operation === undefined || source.operation === operation) &&
        (service === undefined || source.service === service) &&
        (action === undefined || source.action === action),
    );
}

/** When a task ran, in ms since the epoch. */
export interface LogTimes {
  readonly from: number;
  /** Absent while it runs. */
  readonly until?: number | undefined;
}

const dayMs = 24 * 3_600_000;
/** Clocks of workers differ a little, and lines are written a little later. */
const marginMs = 600_000;

/** One log by its name, as a task reports it. */
export async function findLog(
  archive: LogArchive,
  name: string,
  { from, until = Date.now() }: LogTimes,
): Promise<readonly LogSource[]> {
  const [clusterUid = '', nodeId = '', file = ''] = name.split('/');
  const last = dayOf(until + marginMs);
  const sources: LogSource[] = [];
  for (let at = from - marginMs, day = dayOf(at); day <= last; at += dayMs, day = dayOf(at))
    sources.push(...(await archive.find({ clusterUid, day, nodeId, file })).flatMap(sourceOf));
  return sources;
}

/** Undefined for a file that is not the log of a task. */
function sourceOf(stored: StoredLog): readonly LogSource[] {
  const [, node = '', name = ''] = stored.log.split('/');
  const parts = namePattern.exec(name)?.groups;
  if (parts === undefined) return [];
  const { operation = '', incarnation, service = '-', action = '', run } = parts;
  return [
    {
      stored,
      node,
      operation,
      incarnation: Number(incarnation),
      action,
      run: Number(run),
      service: service === '-' ? undefined : service,
    },
  ];
}
