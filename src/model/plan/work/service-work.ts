import type { ServiceAction } from '../../action.js';
import type { PlannedServiceFacts } from '../facts/current.js';
import type { ServiceDigests } from '../facts/digest.js';
import { dependencyClosure, type Outlines, type ServiceOutline } from '../order/dependencies.js';

/** What has to be done for one service on one node, and why. */
export interface ServiceWork {
  readonly actions: readonly ServiceAction[];
  readonly reason?: string;
}

export const noWork: ServiceWork = { actions: [] };

export interface Circumstances {
  /** Nodes that the service reads join, leave or move in this plan. */
  readonly peersChange: boolean;
  /** A user stopped it, or something that it needs. */
  readonly held: boolean;
  /** Why it stops and starts with a service that it needs; absent: it does not. */
  readonly follows?: string;
}

/** The actions that bring a service on a node to the spec, given the node's facts. */
export function workToRun(
  outline: ServiceOutline,
  digests: ServiceDigests,
  facts: PlannedServiceFacts,
  { peersChange, held, follows }: Circumstances,
): ServiceWork {
  const declared = (action: ServiceAction): boolean => outline.actions.includes(action);
  const differs = (action: 'INSTALL' | 'CONFIGURE' | 'START'): boolean =>
    declared(action) && facts[action] !== digests[action];
  const reinstall = differs('INSTALL');
  const isNew = facts.INSTALL === undefined && facts.CONFIGURE === undefined && facts.START === undefined;
  const byPeers = declared('CONFIGURE') && readsPeers(outline) && (peersChange || facts.peersStale === true);
  const byConfig = differs('CONFIGURE');
  const drained = facts.without !== undefined;
  const configure = declared('CONFIGURE') && (reinstall || byConfig || byPeers || drained);
  const running = facts.START !== undefined || !declared('START');
  const cut = facts.begun === 'STOP' || isStartDue(outline, facts);
  const restart =
    running &&
    !isNew &&
    !held &&
    (reinstall ||
      differs('START') ||
      cut ||
      (configure &&
        (outline.onPeersChange === 'restart' || (byConfig && outline.onConfigChange === 'restart'))) ||
      (follows !== undefined && declared('START')));
  const reload = isReloaded(outline) && running && !isNew && !held && !restart;
  const work: ServiceAction[] = [];
  if (restart || facts.begun === 'STOP' || (held && mayRun(facts))) work.push('STOP');
  if (reinstall) work.push('INSTALL');
  if (configure) work.push('CONFIGURE');
  if (reload && (configure || facts.reloadDue === true)) work.push('RELOAD');
  if (!held && facts.INITIALIZE === undefined) work.push('INITIALIZE');
  if (!held && (restart || differs('START'))) work.push('START');
  const reason = reasonFor(facts, {
    held,
    reinstall,
    configured: byConfig,
    byPeers: byPeers || drained,
    started: differs('START'),
    cut,
    follows: restart ? follows : undefined,
  });
  return { actions: work.filter(declared), reason };
}

/** RELOAD follows CONFIGURE where the service runs. */
export function isReloaded({ actions, onConfigChange }: ServiceOutline): boolean {
  return actions.includes('RELOAD') && onConfigChange !== 'configure' && onConfigChange !== 'nothing';
}

/**
 * What a service does when the nodes that it reads change, and nothing else: as if all else were as it should
 * be.
 */
export function workToFollow(
  outline: ServiceOutline,
  digests: ServiceDigests,
  facts: PlannedServiceFacts,
  circumstances: Circumstances,
): ServiceWork {
  if (facts.CONFIGURE === undefined) return noWork;
  const { INSTALL, CONFIGURE } = facts;
  // Stopped by this very operation, to be configured.
  const START = facts.START ?? (facts.redone?.includes('STOP') === true ? digests.START : undefined);
  const kept = { CONFIGURE, INSTALL, START, peersStale: facts.peersStale, reloadDue: facts.reloadDue };
  const work = workToRun(outline, kept, facts, circumstances);
  return { ...work, actions: work.actions.filter((action) => action !== 'INITIALIZE') };
}

/** What takes a service off a node: STOP where it runs or may run, then REMOVE. */
export function workToRemove(outline: ServiceOutline, facts: PlannedServiceFacts): readonly ServiceAction[] {
  const stop = mayRun(facts) || (!outline.actions.includes('START') && facts.INSTALL !== undefined);
  const work: ServiceAction[] = stop ? ['STOP', 'REMOVE'] : ['REMOVE'];
  return work.filter((action) => outline.actions.includes(action));
}

/** It runs, or an action that was cut may have left it running. */
export function mayRun(facts: PlannedServiceFacts): boolean {
  return facts.START !== undefined || facts.begun === 'START' || facts.begun === 'STOP';
}

export function readsPeers(outline: ServiceOutline): boolean {
  return outline.peers !== 'none' && outline.onPeersChange !== 'nothing';
}

/** The services whose nodes a service reads: all, or its own and those it depends on. */
export function peerScope(services: Outlines, service: string): ReadonlySet<string> | 'all' {
  const outline = services[service];
  if (outline === undefined || outline.peers === 'none') return new Set();
  return outline.peers === 'all' ? 'all' : dependencyClosure(services, service);
}

/**
 * A service without a STOP is restarted by START alone: nothing shows that it is due but that CONFIGURE was
 * done before it.
 */
function isStartDue(outline: ServiceOutline, { START: started, redone = [] }: PlannedServiceFacts): boolean {
  return (
    !outline.actions.includes('STOP') &&
    outline.onPeersChange === 'restart' &&
    started !== undefined &&
    redone.includes('CONFIGURE') &&
    !redone.includes('START')
  );
}

interface Why {
  readonly held: boolean;
  readonly reinstall: boolean;
  readonly configured: boolean;
  readonly byPeers: boolean;
  readonly started: boolean;
  readonly cut: boolean;
  readonly follows: string | undefined;
}

/** Why work is repeated; no reason is given for the first time. */
function reasonFor(facts: PlannedServiceFacts, why: Why): string | undefined {
  if (why.reinstall && facts.INSTALL !== undefined) return 'its installation changed';
  if (why.configured && facts.CONFIGURE !== undefined) return 'its configuration changed';
  if (why.byPeers && facts.CONFIGURE !== undefined) return "the cluster's nodes changed";
  if (why.reinstall && facts.CONFIGURE !== undefined) return 'it is installed again';
  if (why.started && facts.START !== undefined) return 'its start changed';
  if (why.held && mayRun(facts)) return 'it must be stopped';
  if (why.cut) return 'its restart was interrupted';
  if (why.follows !== undefined) return why.follows;
  return facts.START !== undefined && why.configured ? 'it is configured again' : undefined;
}
