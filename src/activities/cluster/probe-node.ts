import { setTimeout as wait } from 'node:timers/promises';
import pLimit from 'p-limit';
import { anySignal } from '../../model/signals.js';
import type { ProbedNode } from '../../model/node/probe.js';
import { mergePayload } from '../../model/node/payload.js';
import type { Drift } from '../../model/node/drift.js';
import type { Knowledge, Machine, NodeAddress } from '../../plugins/contract.js';
import { isPluginError } from '../../plugins/errors.js';
import { findLogin } from '../provider/address.js';
import type { Attempt } from '../attempt.js';
import { machineOf, type AccountView } from '../provider/account-view.js';
import { keyOf } from '../../plugins/provider-call.js';
import type { ActivityParts } from '../parts.js';

/** Result of probing one machine. `missing`: not seen, which does not prove absence. */
export type Verdict =
  | { readonly kind: 'fine' }
  | { readonly kind: 'drift'; readonly seen: Drift; readonly why: string }
  | { readonly kind: 'missing'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string; readonly passing: boolean };

/** Longest wait for one SSH server, in ms. */
const sshMs = 5_000;

/**
 * Probes of all tasks of this worker together. More would only compete for its processors, and healthy nodes
 * would seem to be unreachable.
 */
const probes = pLimit(24);

/** Errors of the worker's own system: they say nothing about the machine. */
const localErrors = new Set([
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOBUFS',
  'EADDRNOTAVAIL',
  'EAGAIN',
  'ENETDOWN',
  'ENETUNREACH',
]);

export interface ProbeContext {
  readonly parts: ActivityParts;
  readonly view: AccountView;
  readonly attempt: Attempt;
  /** What the account's list shows; undefined where it cannot be listed. */
  readonly listed: readonly Machine[] | undefined;
}

/** Whether the list shows the node's machine as other than running. */
export function isListedAsDrifted({ view, listed }: ProbeContext, node: ProbedNode): boolean {
  return judge(view, node, machineOf(listed ?? [], keyOf(node), idOf(node))) !== undefined;
}

/** What the provider alone says against the machine; undefined if it shows the machine as running. */
export async function probeAtProvider(
  { view, listed }: Pick<ProbeContext, 'view' | 'listed'>,
  node: ProbedNode,
): Promise<Exclude<Verdict, { readonly kind: 'fine' }> | undefined> {
  const machine = machineOf(listed ?? [], keyOf(node), idOf(node)) ?? (await view.lookUp(node));
  return machine === undefined ? missing(view, node) : judge(view, node, machine);
}

/** Probes one node's machine: at its provider, then over SSH. Never throws for a fault of the machine. */
export async function probeNode(context: ProbeContext, node: ProbedNode): Promise<Verdict> {
  const { view, attempt, listed } = context;
  try {
    const shown = machineOf(listed ?? [], keyOf(node), idOf(node));
    const machine = shown ?? (await view.lookUp(node));
    const verdict = judge(view, node, machine);
    if (verdict !== undefined || machine === undefined) return verdict ?? missing(view, node);
    const answer = await reach(context, node, { address: machine.address });
    if (answer.kind !== 'silent') return answer;
    // The list may be older than what happened to the machine, and the address may have changed meanwhile.
    const now = await view.lookUp(node);
    const changed = judge(view, node, now);
    if (changed !== undefined || now === undefined) return changed ?? missing(view, node);
    const again = await reach(context, node, { address: now.address });
    if (again.kind !== 'silent') return again;
    return {
      kind: 'drift',
      seen: 'unreachable',
      why: `${view.account} reports that machine ${named(node)} runs, but ${again.why}`,
    };
  } catch (error) {
    if (attempt.signal.aborted || attempt.detach.aborted) throw error;
    return unknown(error, `machine ${named(node)} could not be probed: `);
  }
}

/**
 * Probes only whether the machine answers a new login, or its plugin reaches it. Never throws
 * for a fault of it.
 */
export async function probeAnswer(
  context: Omit<ProbeContext, 'listed'>,
  node: ProbedNode,
  withinMs: number,
): Promise<Verdict> {
  const { attempt } = context;
  try {
    const answer = await reach(context, node, { withinMs });
    if (answer.kind !== 'silent') return answer;
    return { kind: 'drift', seen: 'unreachable', why: `machine ${named(node)}: ${answer.why}` };
  } catch (error) {
    if (attempt.signal.aborted || attempt.detach.aborted) throw error;
    return unknown(error, `machine ${named(node)} could not be probed: `);
  }
}

/** An unknown result. Only a transient cause justifies another attempt. */
export function unknown(error: unknown, prefix = ''): Extract<Verdict, { readonly kind: 'unknown' }> {
  const passing = isPluginError(error) ? error.kind === 'Retryable' || error.kind === 'NotReady' : true;
  return {
    kind: 'unknown',
    why: `${prefix}${error instanceof Error ? error.message : String(error)}`,
    passing,
  };
}

function missing(view: AccountView, node: ProbedNode): Extract<Verdict, { readonly kind: 'missing' }> {
  return { kind: 'missing', why: `${view.account} no longer has machine ${named(node)}` };
}

/** The provider's verdict; undefined if it reports the machine as running, or reports none. */
function judge(
  { account }: AccountView,
  node: ProbedNode,
  machine: Machine | undefined,
): Extract<Verdict, { readonly kind: 'drift' | 'unknown' }> | undefined {
  switch (machine?.state) {
    case undefined:
    case 'running':
      return undefined;
    case 'gone':
      return { kind: 'drift', seen: 'gone', why: `${account} reports that machine ${named(node)} is gone` };
    case 'deleting':
      return { kind: 'drift', seen: 'gone', why: `${account} is deleting machine ${named(node)}` };
    case 'stopped':
      return {
        kind: 'drift',
        seen: 'stopped',
        why: `machine ${named(node)} should run, but ${account} reports that it is switched off`,
      };
    case 'failed':
      return {
        kind: 'drift',
        seen: 'stopped',
        why: `machine ${named(node)} should run, but ${account} reports that it failed`,
      };
    case 'starting':
      return { kind: 'unknown', why: `machine ${named(node)} is starting at ${account}`, passing: true };
  }
}

type Reached = Verdict | { readonly kind: 'silent'; readonly why: string };

interface ReachOptions {
  /** Where the provider shows it; default: where it was confirmed. */
  readonly address?: string;
  /** For a new login; default: `sshMs`, with which an open connection is an answer too. */
  readonly withinMs?: number;
}

/** Looks where the machine is now whether it answers as ours, and which boot it is. */
async function reach(
  { parts, view, attempt }: Omit<ProbeContext, 'listed'>,
  node: ProbedNode,
  { address: shown, withinMs }: ReachOptions,
): Promise<Reached> {
  if (view.reach !== undefined) {
    const { is, why = 'no reason was given' } = await answerWithin(view.reach(node), withinMs);
    if (is === 'unknown' && withinMs !== undefined) return { kind: 'unknown', why, passing: true };
    return is === 'yes' ? { kind: 'fine' } : { kind: 'silent', why: `it does not answer: ${why}` };
  }
  const before = node.config['ipaddress'];
  const moved = shown !== undefined && shown !== before;
  const config = mergePayload(node.config, moved ? { ipaddress: shown } : {});
  const { address } = await findLogin(parts, { account: view.account, config }, attempt);
  const where = moved
    ? `machine ${named(node)} is now at ${shown}${typeof before === 'string' ? `, not at ${before}` : ''}`
    : '';
  try {
    const { bootId } = await probes(() => {
      const signal = anySignal([attempt.signal, attempt.detach, AbortSignal.timeout(withinMs ?? sshMs)]);
      signal.throwIfAborted();
      return parts.nodes.probe(address, signal, { acceptsOpen: withinMs === undefined });
    });
    const known = node.config['boot-id'];
    if (typeof known === 'string' && bootId !== undefined && bootId !== known) {
      // Before `moved`: a machine that was started again at another place has lost what ran on it, too.
      return {
        kind: 'drift',
        seen: 'rebooted',
        why: `machine ${named(node)} was restarted after it was confirmed${moved ? `; ${where}` : ''}`,
      };
    }
    return moved ? { kind: 'drift', seen: 'moved', why: where } : { kind: 'fine' };
  } catch (error) {
    if (attempt.signal.aborted || attempt.detach.aborted) throw error;
    if ((isPluginError(error) && error.kind === 'Auth') || isLocal(error)) return unknown(error);
    if (moved) return { kind: 'drift', seen: 'moved', why: where };
    const said = isPluginError(error)
      ? error.message
      : `SSH at ${address.host}:${address.port} did not answer within ${(withinMs ?? sshMs) / 1_000} s`;
    if (await answersAtJump(parts, address, { attempt, withinMs })) return { kind: 'silent', why: said };
    return { kind: 'unknown', why: `its jump host does not answer: ${said}`, passing: true };
  }
}

/** Probes of jump hosts in flight, by host: the machines behind one share its answer. */
const jumpProbes = new Map<string, Promise<boolean>>();

/** Whether the jump host of a silent machine lets us in; true without one. */
async function answersAtJump(
  { nodes }: Pick<ActivityParts, 'nodes'>,
  { jump }: NodeAddress,
  { attempt, withinMs = sshMs }: Pick<ReachOptions, 'withinMs'> & { readonly attempt: Attempt },
): Promise<boolean> {
  if (jump === undefined) return true;
  const key = `${jump.user}@${jump.host}:${jump.port}`;
  const known = jumpProbes.get(key);
  if (known !== undefined) return known;
  const probing = nodes
    .probe(jump, anySignal([attempt.signal, attempt.detach, AbortSignal.timeout(withinMs)]))
    .then(
      () => true,
      () => false,
    )
    .finally(() => jumpProbes.delete(key));
  jumpProbes.set(key, probing);
  return probing;
}

/** A plugin that is slow says nothing about the machine. */
async function answerWithin(answer: Promise<Knowledge>, withinMs: number | undefined): Promise<Knowledge> {
  if (withinMs === undefined) return answer;
  const why = `its plugin did not answer within ${withinMs / 1_000} s`;
  return Promise.race([answer, wait(withinMs, { is: 'unknown', why } as const, { ref: false })]);
}

function isLocal(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && localErrors.has(String(cause.code))) return true;
  return false;
}

function idOf({ config }: ProbedNode): string | undefined {
  const id = config['providerid'];
  return typeof id === 'string' ? id : undefined;
}

function named(node: ProbedNode): string {
  return idOf(node) ?? `of key ${keyOf(node)}`;
}
