import { createHash } from 'node:crypto';
import type { DiskToErase, ErasedDisk } from '../../model/machine/erase.js';
import type { JsonObject } from '../../model/json.js';
import { PluginError } from '../../plugins/errors.js';
import { readDisks } from '../../schema/machine-answer.js';
import type { MachineHandler } from '../task-call.js';
import { askProvider, requireAbility } from './call-provider.js';
import { eraseProgram } from './erase-program.js';
import { openShell } from './image-record.js';

/**
 * ERASE: erases the disks that the account names, over the machine's shell, one after the other. Each
 * disk is a script of its own, so a later attempt continues where an earlier one was interrupted.
 */
export const eraseDisks: MachineHandler = async (call) => {
  const disks = await askProvider(call, async (open) =>
    readDisks(await requireAbility(open, 'disksToErase')(open.machine), open.source('disksToErase')),
  );
  if (disks.length === 0) return {};
  const shell = await openShell(call);
  const erased: ErasedDisk[] = [];
  for (const { name, disk } of eraseRuns(disks)) {
    const { device, method, command = [] } = disk;
    call.attempt.at(`erases ${device}`);
    const { exitCode, stderr, results } = await shell.run({
      name,
      text: eraseProgram,
      arguments: [device, method, ...command],
      sudo: true,
    });
    if (exitCode !== 0)
      throw new PluginError(
        'Invalid',
        `${device} was not erased: ${stderr.trim().slice(-500) || `the program ended with ${exitCode}`}`,
      );
    erased.push(proofOf(disk, results));
  }
  return { erased };
};

/**
 * The run of each disk, named by what it does: after a change of the list, a later attempt must
 * not take the run of another disk for its own. An entry that is repeated is a further pass.
 */
export function eraseRuns(disks: readonly DiskToErase[]): readonly { name: string; disk: DiskToErase }[] {
  const passes = new Map<string, number>();
  return disks.map((disk) => {
    const { device, method, command = [] } = disk;
    const work = JSON.stringify([device, method, ...command]);
    const pass = (passes.get(work) ?? 0) + 1;
    passes.set(work, pass);
    const digest = createHash('sha256').update(work).digest('hex').slice(0, 16);
    return { name: `erase-${digest}-${pass}`, disk };
  });
}

/** @throws PluginError UnknownOutcome if the machine did not report the proof. */
function proofOf({ device, method }: DiskToErase, results: JsonObject = {}): ErasedDisk {
  const [bytes, samples, zeros] = [results['bytes'], results['samples'], results['zeros']].map(Number);
  const { sha256 } = results;
  const isDigest = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
  if (bytes && samples && zeros !== undefined && zeros >= 0 && isDigest)
    return { device, method, bytes, samples, zeros, sha256 };
  throw new PluginError('UnknownOutcome', `the machine did not report that ${device} was erased`);
}
