import { anySignal } from '../../model/signals.js';
import type { Known, Power } from '../../model/machine/answer.js';
import type { Evidence, RecordReading } from '../../model/machine/evidence.js';
import { decideNodeStatus } from '../../model/machine/node-status.js';
import { readPower, readWord } from '../../schema/machine-answer.js';
import { whyOf } from './outcomes.js';
import { askProvider, requireAbility } from './call-provider.js';
import { openShell, parseRecord, readRecordText } from './image-record.js';
import { askLogIns } from './log-ins.js';
import type { MachineHandler, MachineCall } from '../task-call.js';
import { reachNode } from '../automator/automator-task.js';
import { probeSsh } from './probe-ssh.js';
import { checkImage } from './system-verbs.js';

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
