import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { otherOwnerOf } from '../../config/own-files.js';
import { errorAt, ProblemsError } from '../../schema/problem.js';
import { readTextFile } from '../../schema/read-text.js';
import { isRunning, type ProcessMark } from '../../detached/process-mark.js';

/** Where `heddle dev` of a data folder runs; kept as dev.json in the folder while it does. */
export interface DevRecord {
  readonly owner: ProcessMark;
  /** host:port of the Temporal server. */
  readonly address: string;
  readonly namespace: string;
  /** URL of the Web UI. */
  readonly ui: string;
  /** For `temporal --codec-endpoint`; holds a token, so it is a secret. */
  readonly codecEndpoint: string;
  /** URL of the page for provider accounts; holds a token, so it is a secret. */
  readonly accounts: string;
  /** URL of the machine service, and the file with its key. */
  readonly machines: { readonly endpoint: string; readonly apiKeyFile: string };
  /** The heddle.yaml that it was started with, if there was one. */
  readonly configFile?: string;
  /** The configuration that its worker has, for further workers. */
  readonly workerConfig: string;
  readonly processes: {
    readonly server: ProcessMark;
    readonly machines: ProcessMark;
    readonly worker: ProcessMark;
  };
}

export function devRecordFile(dataFolder: string): string {
  return join(dataFolder, 'dev.json');
}

/**
 * The record of a running `heddle dev`; undefined if there is none. Records that killed processes left are
 * ignored.
 */
export async function findDev(dataFolder: string): Promise<DevRecord | undefined> {
  const record = await readDevRecord(dataFolder);
  return record !== undefined && (await isRunning(record.owner)) ? record : undefined;
}

/**
 * The record as it was left, also by one that was killed.
 * @throws ProblemsError if it cannot be read: without it another server might be selected.
 */
export async function readDevRecord(dataFolder: string): Promise<DevRecord | undefined> {
  const file = devRecordFile(dataFolder);
  const read = readTextFile(file, maxBytes);
  if (!read.ok && read.missing === true) return undefined;
  const record = read.ok ? parse(read.text) : undefined;
  if (record !== undefined) return record;
  // Another user's `heddle dev`, which this one cannot use.
  if (!read.ok && otherOwnerOf(dataFolder) !== undefined) return undefined;
  const wrong = read.ok ? 'is damaged' : `cannot be read: ${read.wrong}`;
  const right = 'Start heddle dev again, or remove the file if it is not running.';
  throw new ProblemsError('The record of heddle dev cannot be used:', [
    errorAt([], `${file} ${wrong}`, right),
  ]);
}

export async function writeDevRecord(dataFolder: string, record: DevRecord): Promise<void> {
  await writeFileAtomic(devRecordFile(dataFolder), `${JSON.stringify(record, undefined, 2)}\n`, {
    mode: 0o600,
  });
}

export async function removeDevRecord(dataFolder: string): Promise<void> {
  await rm(devRecordFile(dataFolder), { force: true });
}

const maxBytes = 1024 * 1024;

/** Undefined for a malformed record. */
function parse(text: string): DevRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<DevRecord> | null;
    const complete =
      Number.isInteger(record?.owner?.pid) &&
      typeof record?.address === 'string' &&
      typeof record.workerConfig === 'string' &&
      typeof record.processes === 'object';
    return complete ? (record as DevRecord) : undefined;
  } catch {
    return undefined;
  }
}
