import { PoolClient } from '../../client/pool/pool-client.js';
import type { PoolRecords } from '../../model/pool/export.js';
import { readTextFile } from '../../schema/read-text.js';
import { isPlainObject } from '../../schema/plain-json.js';
import type { Json } from '../../model/json.js';
import { KeyError, type KeyRing } from '../../secrets/keys.js';
import { openText } from '../../secrets/sealed-text.js';
import { openKeys, type ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { formatCount } from '../format.js';
import { verb } from '../verb.js';
import { recordsPurpose } from './export.js';

const mostBytes = 16 * 1024 * 1024;

/** Starts a pool with the records that `pool export` wrote. */
export const restore = verb(
  async ({ temporal, config }, file: string, _options: ServerOptions) => {
    const records = readRecords(file, openKeys(config));
    const { name, nodes, requests } = records.pool;
    const { unchanged } = await new PoolClient(temporal, name).restore(records);
    return {
      pool: name,
      id: records.exported.id,
      nodes: Object.keys(nodes).length,
      requests: Object.keys(requests).length,
      unchanged,
    };
  },
  {
    worker: true,
    print: (output, { pool, nodes, requests, unchanged }) => {
      const content = `${formatCount(nodes, 'node')} and ${formatCount(requests, 'request')}`;
      output.line(`pool ${pool} ${unchanged ? 'had been' : 'is'} restored with ${content}`);
      output.line('next: heddle pool apply FILE, with the accounts of these workers');
    },
  },
);

/** @throws CliError Usage if the file holds no records, KeyError if its key is not there. */
export function readRecords(file: string, keys: KeyRing): PoolRecords {
  const read = readTextFile(file, mostBytes);
  if (!read.ok) throw new CliError('Usage', `${file} cannot be read: ${read.wrong}`);
  const wrong = (why: string, cause?: unknown): CliError =>
    new CliError('Usage', `${file} does not hold the records of a pool: ${why}`, {
      cause,
      next: 'heddle pool export POOL > FILE',
    });
  let document: Json;
  try {
    document = JSON.parse(read.text) as Json;
  } catch (cause) {
    throw wrong('it is no JSON', cause);
  }
  if (!isPlainObject(document) || typeof document['records'] !== 'string') throw wrong('it has no records');
  let text: string;
  try {
    text = openText(keys, recordsPurpose, document['records']);
  } catch (cause) {
    throw cause instanceof KeyError && cause.invalid ? wrong(cause.message, cause) : cause;
  }
  const records = JSON.parse(text) as PoolRecords;
  if (records.version !== 1) throw wrong('they are of an unknown version');
  return records;
}
