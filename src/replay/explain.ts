import type { EventView } from './find-event.js';
import type { ReplayFailure } from './replayer.js';

/** Describes how history and build differ, or the error of the build's code. */
export function explain({ kind, message }: ReplayFailure, event: EventView | undefined): string {
  if (kind === 'failure')
    return `this build's workflow fails${event === undefined ? '' : ` at event ${event.id}`}: ${message}`;
  const core = message.replace(/^\[TMPRL1100\] Nondeterminism error: /, '');
  const there = event === undefined ? 'the history' : `the history has ${describe(event)}`;
  const pair = /^(\w[\w ]*?) of scheduled event '(.+)' does not match .* '(.+)'$/.exec(core);
  if (pair !== null)
    return `${there}; this build goes on with another ${pair[1]?.toLowerCase() ?? ''} there: ${pair[3] ?? ''}`;
  if (/^No command scheduled for event/.test(core)) return `${there}; this build does nothing there`;
  const machine = /^(.+?) machine (?:does not|cannot) handle this event/.exec(core)?.[1];
  if (machine !== undefined)
    return `${there}; this build ${doings[machine] ?? `goes on with another command (${machine})`} there`;
  const patch = /^Non-deprecated patch marker encountered for change (\S+),/.exec(core)?.[1];
  if (patch !== undefined)
    return `${there}: it was written by a build with patched('${patch}'), which this build does not have`;
  return `${there}; ${core}`;
}

/** "event 31, ActivityTaskScheduled (…)". */
function describe({ id, type, about }: EventView): string {
  return `event ${id}, ${type}${about === undefined ? '' : ` (${about})`}`;
}

/** Names of the SDK's state machines, and the workflow operation behind each. */
const doings: Readonly<Record<string, string>> = {
  Activity: 'schedules an activity',
  'Local activity': 'runs a local activity',
  Timer: 'starts a timer',
  'Child workflow': 'starts a child workflow',
  'Signal external WF': 'signals another workflow',
  'Cancel external WF': 'cancels another workflow',
  Update: 'answers an update',
  Change: 'asks patched()',
  'Complete workflow': 'completes the workflow',
  'Fail workflow': 'fails the workflow',
  'Cancel workflow': 'cancels the workflow',
  'Continue as new workflow': 'continues as new',
};
