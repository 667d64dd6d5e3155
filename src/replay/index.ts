export {
  findResetPoint,
  replayHistories,
  type HistoryToReplay,
  type ReplayOptions,
} from './replay-histories.js';
export { replayFaultKinds, type ReplayFault, type ReplayFaultKind, type ReplayReport } from './report.js';
export { runningHistories, type RunningOptions } from './running.js';
export type { EventView } from './find-event.js';
export { exportRemedy, HistoryError, idOf } from './read-history.js';
