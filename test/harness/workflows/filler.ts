import type { FailureRecord } from '../../../src/model/node/failure.js';
import { jsonBytes, maxSpecBytes } from '../../../src/model/carried.js';
import type { ClusterSpec } from '../../../src/model/cluster/spec.js';
import { closed, nodes } from './spec.js';

/** When everything in a filled state happened. */
export const at = new Date(0).toISOString();
export const many = <Value>(count: number, make: (number: number) => Value): Value[] =>
  Array.from({ length: count }, (_, number) => make(number));
/** A text that has so many bytes as JSON. */
export const pad = (bytes: number, salt = 0): string => `${salt}-`.padEnd(bytes - 2, 'x');

/** A spec of this size as JSON, each different from the others. */
export function specOf(name: string, number: number, bytes = maxSpecBytes): ClusterSpec {
  const make = (length: number): ClusterSpec =>
    closed({
      name,
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: {
          actions: { install: { type: 'shell', fields: { script: `: ${number} #`.padEnd(length, '"') } } },
        },
      },
    });
  // A quote is two bytes of JSON.
  return make(100 + Math.floor((bytes - jsonBytes(make(100))) / 2));
}

export const longFailure: FailureRecord = {
  taskId: 't',
  action: 'INSTALL',
  kind: 'ScriptFailed',
  message: pad(4_000),
  stdout: pad(4_000),
  stderr: pad(4_000),
  at,
};
