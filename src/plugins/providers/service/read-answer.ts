import { parseImageRef } from '../../../model/machine/image.js';
import type { CurrentReading, Outcome } from '../../contract.js';
import { exits } from './program.js';

export function answerOf(code: number | null, why: string): Outcome {
  if (code === exits.yes) return { answer: 'done' };
  return { answer: code === exits.no ? 'not done' : 'unknown', why };
}

/**
 * Program current prints `NAME@REVISION`, then a line `tainted: REASON` for each change that a user may have
 * made to it.
 */
export function readCurrent(code: number | null, stdout: string, said: string): CurrentReading {
  if (code === exits.no) return { is: 'no' };
  if (code !== exits.yes) return { is: 'unknown', why: said };
  const [first = '', ...others] = stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const image = first.includes('@') ? parseImageRef(first) : undefined;
  if (image === undefined)
    return {
      is: 'unknown',
      why: `program current printed ${JSON.stringify(first.slice(0, 100))}, which is no NAME@REVISION`,
    };
  return {
    is: 'yes',
    image,
    tainted: others.flatMap((line) => /^tainted:\s*(.*)$/.exec(line)?.[1]?.slice(0, 200) ?? []).slice(0, 20),
  };
}

export function describeIntent(code: number | null, said: string): string {
  const last = said.split('\n').at(-1)?.trim().slice(-300) ?? '';
  if (code === exits.no && last !== '') return last;
  return `it ended with ${code ?? 'no exit code'}${last === '' ? '' : `: ${last}`}`;
}
