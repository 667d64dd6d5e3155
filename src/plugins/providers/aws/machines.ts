import type { Instance } from '@aws-sdk/client-ec2';
import { tagNames } from '../../../model/names.js';
import { PluginError, type Machine } from '../../contract.js';
import type { AwsFields } from './field-types.js';

/** States in which an instance takes up anything. */
export const livingStates: readonly string[] = ['pending', 'running', 'stopping', 'stopped', 'shutting-down'];

const states: Readonly<Record<string, Machine['state']>> = {
  pending: 'starting',
  running: 'running',
  stopping: 'stopped',
  stopped: 'stopped',
  'shutting-down': 'deleting',
  terminated: 'gone',
};

export function machineOf(instance: Instance, fields: AwsFields): Machine {
  const { InstanceId: providerid, State, LaunchTime } = instance;
  const state = states[State?.Name ?? ''];
  if (providerid === undefined || state === undefined)
    throw new PluginError('Retryable', 'EC2 shows an instance without an id or with an unknown state');
  const tags = tagsOf(instance);
  const key = tags[tagNames.key];
  const address = addressOf(instance, fields);
  return { providerid, tags, state, key, createdAt: LaunchTime?.toISOString(), address };
}

export function tagsOf({ Tags = [] }: Pick<Instance, 'Tags'>): Readonly<Record<string, string>> {
  return Object.fromEntries(Tags.map(({ Key = '', Value = '' }) => [Key, Value]));
}

export function addressOf(
  { PublicIpAddress, PrivateIpAddress }: Instance,
  { reachBy }: AwsFields,
): string | undefined {
  const address = reachBy === 'public' ? PublicIpAddress : PrivateIpAddress;
  return address === '' ? undefined : address;
}

/** Why EC2 ended or stopped it, as it says. */
export function reasonOf({ StateReason, StateTransitionReason }: Instance): string {
  return (
    StateReason?.Message ??
    (StateTransitionReason === undefined || StateTransitionReason === ''
      ? 'no reason given'
      : StateTransitionReason)
  );
}
