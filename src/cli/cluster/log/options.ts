import type { ServerOptions } from '../../configuration.js';
import type { NodeOptions } from '../select-nodes.js';

export const levels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof levels)[number];

export interface LogsOptions extends ServerOptions, NodeOptions {
  /** Of tasks, or what services write on their nodes. */
  readonly source: 'tasks' | 'service';
  readonly service?: string;
  /** Lines of all logs, or of each node. */
  readonly tail?: number;
  readonly follow?: boolean;
  /** Of logs of tasks only; since: ms before now. */
  readonly action?: string;
  readonly operation?: string;
  readonly since?: number;
  readonly level?: LogLevel;
}
