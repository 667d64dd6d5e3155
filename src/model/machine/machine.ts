import type { FailureRecord } from '../failure.js';
import type { JsonObject } from '../json.js';
import type { Answer } from './answer.js';
import type { ImageRef } from './image.js';
import type { AccountReply, RecordView } from './messages.js';
import type { NodeStatusReport } from './node-status.js';
import type { MachineStateName } from './states.js';

/** A machine that is registered by itself, for as long as it is registered. */
export interface MachineState {
  readonly stateVersion: 1;
  readonly name: string;
  readonly uid: string;
  readonly registration: Registration;
  /** Where it comes from and what can be done with it; absent until that was asked. */
  readonly account?: AccountReply;
  readonly state: MachineStateName;
  /** Why, where people should know. */
  readonly why?: string;
  readonly payload: JsonObject;
  /** CREATE was begun: there may be a machine. */
  readonly begun?: true;
  /** The image that was put onto it last, and proved to be on it. */
  readonly image?: ImageRef & { readonly since: string };
  /** A write was begun and its end is not known to be good: what is on the disk is no image. */
  readonly half?: ImageRef;
  readonly user?: string;
  readonly operation?: MachineOperation;
  /** Those before it, newest first. */
  readonly history: readonly MachineOperation[];
  readonly operations: number;
  /** How long each step took last time, in ms. */
  readonly measured: Readonly<Record<string, number>>;
}

/** What somebody registers. */
export interface Registration {
  readonly provider: string;
  readonly flavor: string;
  readonly image: string;
  readonly fields: JsonObject;
  /** The automator that has the system's part; null for a resource that has no system. */
  readonly system: string | null;
}

export type MachineIntent =
  | { readonly kind: 'register' }
  | { readonly kind: 'status'; readonly image?: ImageRef }
  | { readonly kind: 'power'; readonly verb: PowerVerb }
  | { readonly kind: 'load'; readonly image: ImageRef; readonly force?: true; readonly withinMs?: number }
  | { readonly kind: 'capture'; readonly image: ImageRef; readonly prove: boolean; readonly withinMs?: number }
  | { readonly kind: 'unload' }
  | { readonly kind: 'reserve'; readonly user: string }
  | { readonly kind: 'log in'; readonly user: string }
  | { readonly kind: 'time out' }
  | { readonly kind: 'release' }
  | { readonly kind: 'maintain'; readonly reason: string }
  | { readonly kind: 'restore' }
  | { readonly kind: 'remove'; readonly force?: true };

export const powerVerbs = ['on', 'off', 'reset', 'status'] as const;
export type PowerVerb = (typeof powerVerbs)[number];

/** Something that was asked of a machine; one at a time. */
export interface MachineOperation {
  readonly id: string;
  readonly intent: MachineIntent;
  readonly by: string;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  /** Of one that ended: whether what was asked is so. */
  readonly answer?: Answer;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly step?: CurrentStep;
  readonly result?: OperationResult;
  readonly failure?: FailureRecord;
  /** What went otherwise than planned and did not stop it. */
  readonly notes: readonly string[];
}

export interface CurrentStep {
  readonly step: string;
  readonly number: number;
  readonly of: number;
  readonly since: string;
  /** Time left when the step began, in ms, by what the steps took before. */
  readonly leftMs: number;
}

export interface OperationResult {
  readonly status?: NodeStatusReport;
  readonly power?: { readonly power: 'on' | 'off' | 'unknown'; readonly why?: string };
  readonly image?: ImageRef;
  readonly sizeMb?: number;
  readonly record?: RecordView;
  /** For LOAD: what had to be done. */
  readonly did?: 'nothing' | 'post-load' | 'everything';
}

/** What everybody may see of a machine: no payload, no fields. */
export interface MachineView {
  readonly name: string;
  readonly uid: string;
  readonly state: MachineStateName;
  readonly why?: string;
  readonly provider: string;
  /** The provisioning system: the provider's type. */
  readonly type?: string;
  readonly site?: string;
  readonly system: string | null;
  readonly can: readonly string[];
  readonly address?: string;
  readonly providerid?: string;
  readonly image?: ImageRef & { readonly since: string };
  readonly half?: ImageRef;
  readonly user?: string;
  readonly operation?: MachineOperation;
  readonly history: readonly MachineOperation[];
}

export function viewOfMachine(state: MachineState): MachineView {
  const { name, uid, registration, account, payload, why, image, half, user, operation, history } = state;
  const { ipaddress, providerid } = payload;
  return {
    name, uid, state: state.state, provider: registration.provider, system: registration.system, can: account?.can ?? [], history,
    ...(account === undefined ? {} : { type: account.type, site: account.site }),
    ...(typeof ipaddress === 'string' ? { address: ipaddress } : {}), ...(typeof providerid === 'string' ? { providerid } : {}),
    ...(why === undefined ? {} : { why }), ...(image === undefined ? {} : { image }), ...(half === undefined ? {} : { half }),
    ...(user === undefined ? {} : { user }), ...(operation === undefined ? {} : { operation }),
  };
}

/** Ended operations that a machine remembers. */
export const rememberedOperations = 20;
