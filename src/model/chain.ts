import { isJsonObject, type Json } from './json.js';
import type { ServiceAction } from './action.js';
import { dependencyClosure, type Outlines, type ServiceOutline } from './dependencies.js';
import type { NodeFacts, ServiceFacts } from './node.js';

/** Digests of what a service's actions should be, by action. CONFIGURE's covers the cluster's configuration too. */
export type ServiceDigests = Readonly<Partial<Record<ServiceAction, string>>>;

/** What has to be done for one service on one node, and why. */
export interface ServiceWork {
  readonly actions: readonly ServiceAction[];
  readonly reason?: string;
}

/** Facts of a service as the planner gets them: whether its peers changed since is decided by who keeps the versions. */
export type PlannedServiceFacts = Omit<ServiceFacts, 'peers'> & { readonly peersStale?: true };
export type PlannedFacts = Omit<NodeFacts, 'services'> & { readonly services: Readonly<Record<string, PlannedServiceFacts>> };

/** What brings a service on a node to what the spec wants, by what is known to be done there. */
export function workToRun(outline: ServiceOutline, digests: ServiceDigests, facts: PlannedServiceFacts, peersChange: boolean): ServiceWork {
  const declared = (action: ServiceAction): boolean => outline.actions.includes(action);
  const differs = (action: 'INSTALL' | 'CONFIGURE' | 'START'): boolean => declared(action) && facts[action] !== digests[action];
  const reinstall = differs('INSTALL');
  const isNew = facts.INSTALL === undefined && facts.CONFIGURE === undefined && facts.START === undefined;
  const byPeers = declared('CONFIGURE') && readsPeers(outline) && (peersChange || facts.peersStale === true);
  const configure = declared('CONFIGURE') && (reinstall || differs('CONFIGURE') || byPeers);
  const running = facts.START !== undefined || !declared('START');
  const restart = running && !isNew && (reinstall || differs('START') || (configure && outline.onPeersChange === 'restart'));
  const work: ServiceAction[] = [];
  if ((restart && declared('STOP')) || facts.begun === 'STOP') work.push('STOP');
  if (reinstall) work.push('INSTALL');
  if (configure) work.push('CONFIGURE');
  if (declared('INITIALIZE') && facts.INITIALIZE === undefined) work.push('INITIALIZE');
  if (declared('START') && (restart || differs('START'))) work.push('START');
  const reason = reasonFor({ isNew, reinstall, configured: differs('CONFIGURE'), byPeers });
  return { actions: work.filter(declared), ...(reason === undefined ? {} : { reason }) };
}

/** What takes a service off a node: STOP where it runs or may run, then REMOVE. */
export function workToRemove(outline: ServiceOutline, facts: PlannedServiceFacts): readonly ServiceAction[] {
  const mayRun = facts.START !== undefined || facts.begun === 'START' || facts.begun === 'STOP'
    || (!outline.actions.includes('START') && facts.INSTALL !== undefined);
  const work: ServiceAction[] = [];
  if (mayRun && outline.actions.includes('STOP')) work.push('STOP');
  if (outline.actions.includes('REMOVE')) work.push('REMOVE');
  return work;
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

/** Digests of all actions of a service. */
export function digestsOf(
  actions: Readonly<Record<string, Json>>, names: Readonly<Record<string, ServiceAction>>, config: Json, digest: (value: Json) => string,
): ServiceDigests {
  const digests: Partial<Record<ServiceAction, string>> = {};
  for (const [key, action] of Object.entries(names)) {
    const declared = actions[key];
    if (!isJsonObject(declared)) continue;
    const carried = { type: declared.type ?? null, fields: declared.fields ?? null };
    digests[action] = digest(action === 'CONFIGURE' ? { ...carried, config } : carried);
  }
  return digests;
}

function reasonFor(why: { isNew: boolean; reinstall: boolean; configured: boolean; byPeers: boolean }): string | undefined {
  if (why.isNew) return undefined;
  if (why.reinstall) return 'its installation changed';
  if (why.configured) return 'its configuration changed';
  return why.byPeers ? 'the cluster\'s nodes changed' : undefined;
}
