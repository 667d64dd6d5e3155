import { anySignal } from '../../model/signals.js';
import type { Known } from '../../model/machine/answer.js';
import { inRecordHome, recordFile } from '../../model/machine/record-file.js';
import type { Shell } from '../../plugins/contract.js';
import { whyOf } from './outcomes.js';
import { openShell } from './image-record.js';
import type { MachineCall } from '../task-call.js';

const codes = { yes: 10, no: 11 } as const;

/**
 * Tells whether a user had a terminal on the machine since its image record was written, by the machine's own
 * clock. A machine that keeps no login list, or has no program to read it, cannot tell. Heddle itself never
 * opens a terminal. Word 1 is the list, word 2 the record.
 */
export const logInsProgram = `
list=$1; record=$2
[ -r "$list" ] && [ -f "$record" ] || exit 1
[ "$list" -nt "$record" ] || exit ${codes.no}
users=$(who "$list") || exit 1
[ -n "$users" ] && exit ${codes.yes}
exit ${codes.no}
`;

export async function askLogIns(call: MachineCall, notes: string[]): Promise<Known> {
  call.attempt.at('checks for log-ins');
  try {
    return await readLogIns(await openShell(call));
  } catch (error) {
    notes.push(
      `who logged in is not known: ${whyOf(error, anySignal([call.attempt.signal, call.attempt.detach]))}`,
    );
    return 'unknown';
  }
}

async function readLogIns(shell: Shell): Promise<Known> {
  const { exitCode } = await shell.exec([...inRecordHome(logInsProgram), '/var/log/wtmp', recordFile], {
    timeoutMs: 20_000,
  });
  if (exitCode === codes.yes) return 'yes';
  return exitCode === codes.no ? 'no' : 'unknown';
}
