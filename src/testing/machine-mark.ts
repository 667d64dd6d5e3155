import { isPluginError } from '../plugins/errors.js';
import { connectUnpinned } from '../ssh/connect.js';
import { exec } from '../ssh/exec.js';
import { bringPower } from './machine-answers.js';
import { readTarget } from './node.js';
import type { ProviderBench, Subject } from './provider-bench.js';
import type { SuiteAccount } from './provider-options.js';

const file = '"${HOME:?}/heddle-suite-mark"';

/**
 * Puts a mark on a machine's disk that only another disk lacks. Leaves the machine off, where it can be
 * switched.
 */
export async function mark(bench: ProviderBench, subject: Subject): Promise<void> {
  if (bench.has('reach')) return marksOf(bench).put(idOf(subject));
  await onMachine(bench, subject, `: >${file} && sync`);
}

export async function isMarked(bench: ProviderBench, subject: Subject): Promise<boolean> {
  if (bench.has('reach')) return marksOf(bench).has(idOf(subject));
  return (await onMachine(bench, subject, `test -e ${file}`)) === 0;
}

function marksOf({ opened }: ProviderBench): NonNullable<SuiteAccount['marks']> {
  const { marks } = opened.account;
  if (marks === undefined) throw new Error("it has no SSH: `open` of the suite's options must give marks");
  return marks;
}

function idOf({ config }: Subject): string {
  const id = config['providerid'];
  if (typeof id !== 'string') throw new Error('it has no providerid');
  return id;
}

async function onMachine(bench: ProviderBench, subject: Subject, line: string): Promise<number> {
  await bringPower(bench, subject, 'powerOn');
  // A loaded image may have another host key.
  await bench.untilReady(subject);
  const target = await readTarget(subject.config);
  const connection = await bench.until('SSH to answer', () =>
    connectUnpinned({ ...target, pinsWithPassword: true }).catch((error: unknown) => {
      if (!isPluginError(error)) throw error;
      return undefined;
    }),
  );
  try {
    return (await exec(connection, ['sh', '-c', line])).exitCode;
  } finally {
    connection.close();
    await bringPower(bench, subject, 'powerOff');
  }
}
