import { anySignal } from '../../model/signals.js';
import type { Known, Power } from '../../model/machine/answer.js';
import type { Evidence, RecordReading } from '../../model/machine/evidence.js';
import { decideNodeStatus } from '../../model/machine/node-status.js';
import { readPower, readWord } from '../../schema/machine-answer.js';
import { whyOf } from './outcomes.js';
import { askProvider, requireAbility } from './call-provider.js';
import { openShell, parseRecord, readRecordText } from './image-record.js';
import type { MachineHandler, MachineCall } from '../task-call.js';
import { reachNode } from '../automator/automator-task.js';
import { probeSsh } from './probe-ssh.js';
import { checkImage } from './system-verbs.js';
import { inRecordHome, recordFile } from '../../model/machine/record-file.js';
import type { Shell } from '../../plugins/contract.js';

/**
 * NODE_STATUS: collects all evidence about a machine, changes nothing, and derives its status. Missing
 * evidence counts as unknown.
 */
export const nodeStatus: MachineHandler = async (call) => {
  const notes: string[] = [];
  const seen = await askPower(call, notes);
  const reached = await askSsh(call, seen.power, notes);
  const { ssh } = reached;
  const record = ssh === 'yes' ? await askRecord(call, notes) : { is: 'unknown' as const };
  const before: Evidence = { ...reached, ...seen, record, notes };
  const { image, logIns: wantsLogIns } = call.request.order;
  const withoutLogIns = decideNodeStatus(before, image);
  // Asked only of an image that is right so far.
  const logIns =
    wantsLogIns === true && (withoutLogIns.status === 'READY' || withoutLogIns.status === 'POST_LOAD')
      ? await askLogIns(call, notes)
      : undefined;
  const withLogIns: Evidence = logIns === undefined ? before : { ...before, logIns };
  const first = decideNodeStatus(withLogIns, image);
  if (first.status !== 'READY') return { status: first };
  // Asked last, for it is the costliest.
  const check = call.request.order.unchecked === true ? undefined : await checkImage(call);
  if (check?.why !== undefined) notes.push(check.why);
  return {
    status: decideNodeStatus({ ...withLogIns, ...(check === undefined ? {} : { check: check.is }) }, image),
  };
};

export async function askPower(
  call: MachineCall,
  notes: string[],
): Promise<Pick<Evidence, 'power' | 'bootTarget' | 'assigned'>> {
  const { attempt } = call;
  try {
    return await askProvider(call, async (open) => {
      const { abilities } = open.plugin;
      const reading = abilities.includes('powerStatus')
        ? readPower(await requireAbility(open, 'powerStatus')(open.machine), open.source('powerStatus'))
        : { power: 'unknown' as const };
      if (reading.why !== undefined) notes.push(reading.why);
      const word = async (method: 'bootTarget' | 'assignedImage'): Promise<string | undefined> =>
        abilities.includes(method)
          ? readWord(await requireAbility(open, method)(open.machine), open.source(method))
          : undefined;
      // Who does not answer the one question is not asked more.
      if (reading.power === 'unknown') return { power: reading.power };
      const [bootTarget, assigned] = [await word('bootTarget'), await word('assignedImage')];
      return { power: reading.power, bootTarget, assigned };
    });
  } catch (error) {
    notes.push(whyOf(error, attempt.signal));
    return { power: 'unknown' };
  }
}

/** Silence proves nothing: only a machine that is certainly off certainly has no SSH. */
async function askSsh(
  call: MachineCall,
  power: Power,
  notes: string[],
): Promise<Pick<Evidence, 'ping' | 'pingBy' | 'ssh'>> {
  const { answers, why } = await probeSsh(call);
  if (why === undefined) return { ping: 'yes', pingBy: 'tcp', ssh: 'yes' };
  notes.push(why);
  const ssh: Known = power === 'off' && !answers ? 'no' : 'unknown';
  // A refused connection proves that the host is up.
  if (answers || /ECONNREFUSED/.test(why)) return { ping: 'yes', pingBy: 'tcp', ssh };
  const replied = await askEcho(call);
  if (replied !== undefined) return { ping: replied ? 'yes' : 'no', pingBy: 'icmp', ssh };
  return { ping: power === 'off' ? 'no' : 'unknown', ssh };
}

async function askEcho({ parts, request, attempt }: MachineCall): Promise<boolean | undefined> {
  const { signal, detach } = attempt;
  attempt.at('sends an ICMP echo');
  try {
    const { address } = await reachNode(parts, request, attempt);
    return await parts.nodes.ping(address, anySignal([signal, detach]));
  } catch {
    // Without an address there is nothing to send it to.
    return undefined;
  }
}

async function askRecord(call: MachineCall, notes: string[]): Promise<RecordReading> {
  call.attempt.at('reads the record of the image');
  try {
    const text = await readRecordText(await openShell(call));
    return text === undefined ? { is: 'missing' } : { is: 'read', record: parseRecord(text) };
  } catch (error) {
    notes.push(whyOf(error, anySignal([call.attempt.signal, call.attempt.detach])));
    return { is: 'unknown' };
  }
}

const codes = { yes: 10, no: 11 } as const;

/**
 * Tells whether a user had a terminal on the machine since its image record was written, by the
 * machine's own clock. A machine that keeps no login list, or has no program to read it, does
 * not show it. Heddle itself never opens a terminal. Word 1 is the list, word 2 the record.
 */
export const logInsProgram = `
list=$1; record=$2
[ -r "$list" ] && [ -f "$record" ] || exit 1
[ "$list" -nt "$record" ] || exit ${codes.no}
users=$(who "$list") || exit 1
[ -n "$users" ] && exit ${codes.yes}
exit ${codes.no}
`;

async function askLogIns(call: MachineCall, notes: string[]): Promise<Known> {
  call.attempt.at('checks for log-ins');
  try {
    return await readLogIns(await openShell(call));
  } catch (error) {
    notes.push(
      `the log-ins are unknown: ${whyOf(error, anySignal([call.attempt.signal, call.attempt.detach]))}`,
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
