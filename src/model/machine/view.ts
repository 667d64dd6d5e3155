import type { MachineView } from '../../schema/output/machine.js';
import { parseImageRef, type ImageRef } from './image.js';
import type { MachineState, Registration } from './state.js';

export function viewOfMachine(state: MachineState): MachineView {
  const {
    name,
    uid,
    registration,
    account,
    payload,
    why,
    image,
    half,
    user,
    holder,
    operation,
    history,
    drift = [],
    checkedAt,
    correct = [],
    groups = [],
    labels = {},
    quarantine,
    power,
    hardware,
    erasure,
    unerased,
  } = state;
  const { ipaddress, providerid } = payload;
  return {
    name,
    uid,
    state: state.state,
    provider: registration.provider,
    system: registration.system,
    can: account?.can ?? [],
    history,
    drift,
    correct,
    groups,
    labels,
    quarantine,
    defaultImage: defaultImageOf(registration),
    checkedAt,
    type: account?.type,
    site: account?.site,
    ...(typeof ipaddress === 'string' ? { address: ipaddress } : {}),
    ...(typeof providerid === 'string' ? { providerid } : {}),
    power,
    why,
    image,
    half,
    user,
    holder,
    hardware,
    erasure,
    // Of no interest where no disks are erased.
    unerased: account?.can.includes('ERASE') === true ? unerased : undefined,
    operation,
  };
}

/** `host` of a machine that was made from it is its first revision. */
function defaultImageOf({ defaultImage, image }: Registration): ImageRef {
  return defaultImage ?? parseImageRef(image) ?? { name: 'none', revision: '1' };
}
