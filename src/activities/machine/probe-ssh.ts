import { anySignal } from '../../model/signals.js';
import { reachNode } from '../automator/automator-task.js';
import type { MachineCall } from '../task-call.js';
import { whyOf } from './outcomes.js';

/**
 * Whether an SSH server answers at the machine's address, and why a login fails. A refused
 * connection may come from something before the machine, so it is not an answer.
 */
export async function probeSsh(
  { parts, request, attempt }: MachineCall,
  within?: AbortSignal,
): Promise<{ readonly answers: boolean; readonly why?: string }> {
  attempt.at('checks whether SSH answers');
  const leave = anySignal([attempt.signal, attempt.detach]);
  try {
    const { address } = await reachNode(parts, request, attempt);
    await parts.nodes.probe(address, within === undefined ? leave : anySignal([leave, within]));
    return { answers: true };
  } catch (error) {
    const why = whyOf(error, leave);
    return { answers: /refused the login|shows host key|does not answer as an SSH server/.test(why), why };
  }
}
