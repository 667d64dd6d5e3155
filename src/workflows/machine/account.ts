import type { FoundNode } from '../../model/image/node.js';
import type { AccountReply } from '../../model/machine/messages.js';
import type { MachineState, Registration } from '../../model/machine/state.js';
import { schedule } from '../schedule.js';

/** What the workers' configuration says of the account of a machine. */
export function describeAccount(registration: Registration): Promise<AccountReply> {
  return schedule('DESCRIBE_ACCOUNT', registration, { summary: `DESCRIBE_ACCOUNT ${registration.provider}` });
}

/** The machine of a node, under its own key and in the name of the node's owner. */
export async function machineOfNode(
  { clusterId, uid, incarnation, payload, placement }: FoundNode,
  system: string | null,
): Promise<Pick<MachineState, 'uid' | 'owner' | 'incarnation' | 'registration' | 'payload' | 'account'>> {
  const { provider, flavor, image, fields } = placement;
  const registration = { provider, flavor, image, fields, system };
  return {
    uid,
    owner: clusterId,
    incarnation,
    registration,
    payload,
    account: await describeAccount(registration),
  };
}
