import type { TaskRequest } from './task-request.js';

type MachineOf = Pick<TaskRequest, 'clusterId' | 'nodeId' | 'incarnation' | 'provider' | 'config'>;

/** What a person must do if it is unknown whether CREATE has made the machine. */
export function confirmAbsenceText(machine: MachineOf): string {
  const { nodeId, config } = machine;
  const hostname = typeof config['hostname'] === 'string' ? config['hostname'] : nodeId;
  return `Look there for a machine named ${hostname}, delete it if there is one, then: ${confirmBy(machine)}`;
}

/**
 * What a failure with an unknown outcome adds for people: which machine to look for. Empty for
 * tasks that leave no machine behind which the provider may be unable to find.
 */
export function unknownMachineText(activityType: string, [request]: readonly unknown[]): string {
  const isCreate = activityType === 'CREATE';
  if ((!isCreate && activityType !== 'DELETE') || !isTask(request)) return '';
  if (!isCreate && (request.createBegun !== true || request.absenceConfirmedAt !== undefined)) return '';
  return `. Provider ${request.provider.name} may be unable to report what CREATE has created. ${confirmAbsenceText(request)}`;
}

/** The command by which a person confirms that there is no such machine. */
function confirmBy({ clusterId, nodeId, incarnation }: MachineOf): string {
  const [kind, name] = clusterId.split('/');
  switch (name === undefined ? undefined : kind) {
    case 'pool':
      return `heddle pool delete ${name} ${nodeId} --abandon`;
    case 'machine':
      // A machine that is moved is asked for under another number each time.
      return incarnation === 1 ? `heddle machine remove ${name} --force` : `heddle machine move ${name}`;
    case 'image':
      return `heddle image cancel ${name}`;
    default:
      return `heddle retry ${clusterId}`;
  }
}

function isTask(
  value: unknown,
): value is MachineOf & Pick<TaskRequest, 'createBegun' | 'absenceConfirmedAt'> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as MachineOf).clusterId === 'string' &&
    typeof (value as MachineOf).nodeId === 'string' &&
    typeof (value as MachineOf).provider?.name === 'string' &&
    typeof (value as MachineOf).config === 'object'
  );
}
