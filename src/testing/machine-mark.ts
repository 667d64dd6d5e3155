import { isPluginError } from '../plugins/errors.js';
import { connectUnpinned } from '../ssh/connect.js';
import { exec } from '../ssh/exec.js';
import { readTarget } from './node.js';
import type { ProviderBench, Subject } from './provider-bench.js';
import { switchOff, switchOn } from './provider-power-cases.js';
import { until, untilReady } from './until.js';

const file = '"${HOME:?}/heddle-suite-mark"';

/**
 * Leaves something on a machine that only another disk has not. The machine is off afterwards, where it can
 * be switched.
 */
export async function mark(bench: ProviderBench, subject: Subject): Promise<void> {
  if (bench.plugin.abilities.includes('reach')) return marksOf(bench).put(idOf(subject));
  await onMachine(bench, subject, `: >${file} && sync`);
}

export async function isMarked(bench: ProviderBench, subject: Subject): Promise<boolean> {
  if (bench.plugin.abilities.includes('reach')) return marksOf(bench).has(idOf(subject));
  return (await onMachine(bench, subject, `test -e ${file}`)) === 0;
}

function marksOf({ marks }: ProviderBench): NonNullable<ProviderBench['marks']> {
  if (marks === undefined)
    throw new Error("nobody logs in to it: `open` of the suite's options must give marks");
  return marks;
}

function idOf({ config }: Subject): string {
  const id = config['providerid'];
  if (typeof id !== 'string') throw new Error('it has no providerid');
  return id;
}

async function onMachine(bench: ProviderBench, subject: Subject, line: string): Promise<number> {
  await switchOn(bench, subject);
  // What was loaded may show another host key.
  await untilReady('the machine to be ready', () => bench.confirm(subject), bench.patienceMs);
  const target = await readTarget(subject.config);
  const connection = await until(
    'SSH to answer',
    () =>
      connectUnpinned({ ...target, pinsWithPassword: true }).catch((error: unknown) => {
        if (!isPluginError(error)) throw error;
        return undefined;
      }),
    bench.patienceMs,
  );
  try {
    return (await exec(connection, ['sh', '-c', line])).exitCode;
  } finally {
    connection.close();
    await switchOff(bench, subject);
  }
}
