import type {
  FindComputersReply,
  FindComputersRequest,
  OperateMachineReply,
  OperateMachineRequest,
} from '../../model/reservation/messages.js';
import type { Tidings } from '../../model/reservation/tidings.js';
import { heartbeating } from '../heartbeating.js';
import { findComputers } from './find-computers.js';
import { notify } from './notify.js';
import { operateMachine } from './operate-machine.js';
import type { ReservationParts } from './parts.js';

export interface ReservationActivities {
  readonly FIND_COMPUTERS: (request: FindComputersRequest) => Promise<FindComputersReply>;
  readonly OPERATE_MACHINE: (request: OperateMachineRequest) => Promise<OperateMachineReply>;
  readonly NOTIFY: (tidings: Tidings) => Promise<{ readonly told: number }>;
}

export function createReservationActivities(parts: ReservationParts): ReservationActivities {
  return {
    FIND_COMPUTERS: heartbeating((request: FindComputersRequest) => findComputers(parts, request)),
    OPERATE_MACHINE: heartbeating((request: OperateMachineRequest) => operateMachine(parts, request)),
    NOTIFY: heartbeating((tidings: Tidings) => notify(parts, tidings)),
  };
}
