import type { ServiceAction } from '../../action.js';
import { isReloaded, mayRun } from './service-work.js';
import type { PlannedServiceFacts, Repeatable } from '../facts/current.js';
import type { ServiceOutline } from '../order/dependencies.js';

/**
 * What start, stop, restart and reconfigure have left to do for a service on a node. Each ends with nothing
 * left.
 */

export function workToStop(outline: ServiceOutline, facts: PlannedServiceFacts): readonly ServiceAction[] {
  // Without a START it is unknown whether a service runs.
  const unknown =
    !outline.actions.includes('START') && isInstalled(outline, facts) && !isRedone(facts, 'STOP');
  return declared(outline, mayRun(facts) || unknown ? ['STOP'] : []);
}

export function workToStart(outline: ServiceOutline, facts: PlannedServiceFacts): readonly ServiceAction[] {
  if (!isInstalled(outline, facts)) return [];
  if (facts.START !== undefined && facts.begun !== 'STOP') return [];
  return declared(outline, [
    ...(facts.begun === 'STOP' ? ['STOP' as const] : []),
    ...initialize(facts),
    'START',
  ]);
}

/** STOP where it runs, and START everywhere: a service that a cancelled restart left stopped starts too. */
export function workToRestart(outline: ServiceOutline, facts: PlannedServiceFacts): readonly ServiceAction[] {
  if (!isInstalled(outline, facts)) return [];
  const stop = isStopDue(facts);
  const start = isStartDue(facts);
  return declared(outline, [
    ...(stop ? ['STOP' as const] : []),
    ...(start ? [...initialize(facts), 'START' as const] : []),
  ]);
}

export function workToReconfigure(
  outline: ServiceOutline,
  facts: PlannedServiceFacts,
): readonly ServiceAction[] {
  if (!isInstalled(outline, facts)) return [];
  const configure = isRedone(facts, 'CONFIGURE') ? [] : (['CONFIGURE'] as const);
  const isRunning = facts.START !== undefined || !outline.actions.includes('START');
  const reload = isReloaded(outline) && isRunning && (configure.length > 0 || facts.reloadDue === true);
  return declared(outline, [...configure, ...(reload ? (['RELOAD'] as const) : [])]);
}

/** STOP where it runs, CONFIGURE, and START where it ran. */
export function workToReconfigureAndRestart(
  outline: ServiceOutline,
  facts: PlannedServiceFacts,
): readonly ServiceAction[] {
  const reconfigure = workToReconfigure(outline, facts);
  if (!outline.actions.includes('START')) return reconfigure;
  const configure = reconfigure.filter((action) => action !== 'RELOAD');
  const stop = isStopDue(facts);
  const start = isStartDue(facts) && (stop || isRedone(facts, 'STOP'));
  return declared(outline, [
    ...(stop ? ['STOP' as const] : []),
    ...configure,
    ...(start ? ['START' as const] : []),
  ]);
}

/** It was installed and configured once, with any script. */
function isInstalled(outline: ServiceOutline, facts: PlannedServiceFacts): boolean {
  return (['INSTALL', 'CONFIGURE'] as const).every(
    (action) => !outline.actions.includes(action) || facts[action] !== undefined,
  );
}

function isStopDue(facts: PlannedServiceFacts): boolean {
  return mayRun(facts) && !isRedone(facts, 'STOP') && !isRedone(facts, 'START');
}

function isStartDue(facts: PlannedServiceFacts): boolean {
  return facts.START === undefined || !isRedone(facts, 'START');
}

function isRedone({ redone = [] }: PlannedServiceFacts, action: Repeatable): boolean {
  return redone.includes(action);
}

function initialize(facts: PlannedServiceFacts): readonly ServiceAction[] {
  return facts.INITIALIZE === undefined ? ['INITIALIZE'] : [];
}

function declared(outline: ServiceOutline, work: readonly ServiceAction[]): readonly ServiceAction[] {
  return work.filter((action) => outline.actions.includes(action));
}
