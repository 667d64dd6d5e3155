import { activityInfo } from '@temporalio/activity';
import type { MachineView } from '../../schema/output/machine.js';
import type { Knowledge } from '../../model/machine/answer.js';
import type { UnneededLoad } from '../../model/machine/decide.js';
import type { ImageRef } from '../../model/machine/image.js';
import type { MessageIntent } from '../../model/machine/intents.js';
import type { Settings } from '../../schema/config.js';
import type { WorkerLog } from '../parts.js';

/** What the activities of reservations are made of. */
export interface ReservationParts {
  readonly computers: Computers;
  readonly settings: Pick<Settings, 'reservations' | 'webhooks'>;
  readonly log: WorkerLog;
}

/** The workflows of registered machines. */
export interface Computers {
  /** Names of those that are registered, as the server's index has them. */
  names(): Promise<readonly string[]>;
  /** Undefined where none is registered by that name. */
  view(name: string): Promise<MachineView | undefined>;
  askImage(name: string, image: ImageRef): Promise<Knowledge>;
  /** Ends the load of a request, unless it writes. */
  stopUnneeded(name: string, key: string): Promise<UnneededLoad>;
  /** Gives the id of the operation. @throws RefusedError, GoneError */
  operate(
    name: string,
    request: {
      readonly intent: MessageIntent;
      readonly by: string;
      readonly holder: string;
      readonly key: string;
    },
  ): Promise<string>;
}

/** The machine's workflow has ended. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
}

/** The machine does not take it; the message says why. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** How long an attempt has until a moment of the server's clock, in ms from its start. */
export function msUntil(moment: string): number {
  return Date.parse(moment) - activityInfo().currentAttemptScheduledTimestampMs;
}
