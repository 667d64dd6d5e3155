export {
  HeddleClient,
  type ApplyOptions,
  type HeddleClientOptions,
  type OperateIntent,
} from './heddle-client.js';
export { MachineClient } from './machine.js';
export type { MachineRequestIntent } from '../model/machine/intents.js';
export type { MachineOperation, Registration } from '../model/machine/state.js';
export type { NodeStatusReport, Verdict } from '../model/machine/node-status.js';
export { ReservationClient, type OpenedMachine } from './reservation.js';
export type { ReservationView } from '../schema/output/reservation.js';
export type { ReservationNotification } from '../model/reservation/state.js';
export type { WrittenReservation } from '../schema/reservation/request.js';
export { ImageClient } from './image.js';
export type { Build, ImageFile, Provenance, Upload } from '../model/image/build.js';
export type { ImageSpec } from '../model/image/spec.js';
export type { ImageView } from '../schema/output/image.js';
export { loadImageFile, readImageFile } from '../schema/image/read.js';
export { formatImageRef, parseImageRef, type ImageRef } from '../model/machine/image.js';
export { ResourceClient, type PutOptions } from './artifact/artifact-client.js';
export type { Catalogue, PrunedVersion } from '../model/artifact/state.js';
export type { ResourceRecord, ResourceVersion } from '../schema/output/resource.js';
export type { PlanPreview } from './preview.js';
export { HeddleError, type HeddleErrorCode } from './errors.js';
export type { LeaksView } from './leaks.js';
export type { Resumption } from '../model/sweep/sweep.js';
export type { Leak, SweepReport } from '../schema/output/system.js';
export type { ClusterListing } from './list.js';
export { findOperation, type WaitOptions, type WaitResult } from './wait.js';
export { parseSpec } from '../schema/cluster/read.js';
export { loadSpecFile, readSpecFile } from '../schema/cluster/read.js';
export { formatProblem, type Problem } from '../schema/problem.js';
export { isEmptyPlan, taskCount, type Plan } from '../model/plan/plan.js';
export type { ClusterSpec, GroupSpec, ServiceSpec, WrittenCluster } from '../model/cluster/spec.js';
export type { Outputs, OutputValue } from '../model/cluster/outputs.js';
export type { GivenValue, GivenValues } from '../schema/cluster/bind.js';
export type { ClusterStatus, NodeStatus } from '../schema/output/status.js';
export type { Operation, OperationState } from '../model/cluster/operation.js';
export type { OperationKind } from '../model/plan/intent/intent.js';
export {
  PoolClient,
  type DemandOptions,
  type PoolClientOptions,
  type WaitForNodesOptions,
} from './pool/pool-client.js';
export { listPools, type PoolListing } from './list.js';
export { loadPoolsFile, readPoolsFile } from '../schema/pool/read.js';
export type { LabelSpec, OfferSpec, PoolSpec, ProviderPoolSpec } from '../model/pool/spec.js';
export type { GrantedNode, PoolNodeView, PoolView, RequestView } from '../schema/output/pool.js';
export type { ApplyReply } from '../model/cluster/contract.js';
