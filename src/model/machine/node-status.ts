import type { Known, Power } from './answer.js';
import { nodesetOf } from './boot.js';
import { isTainted, postLoadOf, revisionOf, taintReasons, type CurrentImage } from './current-image.js';
import type { Evidence } from './evidence.js';
import type { ImageRef } from './image.js';

/**
 * `READY`: it has the image, untouched.
 * `POST_LOAD`: it has the image, and only the steps after loading are missing.
 * `RELOAD`: it certainly has another image, or may have been used.
 * `UNKNOWN`: none of these is certain, so nothing is done to it.
 */
const verdicts = ['READY', 'POST_LOAD', 'RELOAD', 'UNKNOWN'] as const;
export type Verdict = (typeof verdicts)[number];

/** The result of NODE_STATUS, in the words of the interface that it comes from; null: not known. */
export interface NodeStatusReport {
  readonly status: Verdict;
  /** The rule that decided. */
  readonly why: string;
  readonly ping: 0 | 1 | null;
  readonly ssh: 0 | 1 | null;
  readonly rpower: 0 | 1 | null;
  /** What it boots next: `boot`, `install` or `image`, else the controller's own word. */
  readonly nodeset: string | null;
  readonly nodetype: string | null;
  readonly currentimage: string | null;
  readonly evidence: {
    readonly revision: string | null;
    readonly wanted: string | null;
    readonly tainted: boolean | null;
    readonly taintReasons: readonly string[];
    readonly postLoad: string | null;
    readonly check: Known | null;
    readonly notes: readonly string[];
    /** How `ping` was observed; absent if it is derived from the power, or not known. */
    readonly pingBy?: 'tcp' | 'icmp';
    /** The plugin reported it instead of SSH. */
    readonly by?: 'plugin';
  };
}

/** Derives the status of a machine from evidence. Without a wanted image any revision is right. */
export function decideNodeStatus(evidence: Evidence, wanted: ImageRef | undefined): NodeStatusReport {
  const record = evidence.record.is === 'read' ? evidence.record.record : undefined;
  const { status, why } =
    rules.map((rule) => rule(evidence, record, wanted)).find((found) => found !== undefined) ?? ready;
  return {
    status,
    why,
    ping: bit(evidence.ping),
    ssh: bit(evidence.ssh),
    rpower: powerBit(evidence.power),
    nodeset: evidence.bootTarget === undefined ? null : nodesetOf(evidence.bootTarget),
    nodetype: evidence.assigned ?? null,
    currentimage: record === undefined || record.name === '' ? null : record.name,
    evidence: {
      revision: (record === undefined ? undefined : revisionOf(record)) ?? null,
      wanted: wanted?.revision ?? null,
      tainted: record === undefined ? null : isTainted(record),
      taintReasons: record === undefined ? [] : taintReasons(record),
      postLoad: (record === undefined ? undefined : postLoadOf(record)) ?? null,
      check: evidence.check ?? null,
      notes: evidence.notes,
      ...(evidence.pingBy === undefined ? {} : { pingBy: evidence.pingBy }),
      by: evidence.by,
    },
  };
}

interface Decision {
  readonly status: Verdict;
  readonly why: string;
}
type Rule = (
  evidence: Evidence,
  record: CurrentImage | undefined,
  wanted: ImageRef | undefined,
) => Decision | undefined;

const reload = (why: string): Decision => ({ status: 'RELOAD', why });
const unknown = (why: string): Decision => ({ status: 'UNKNOWN', why });
const ready: Decision = { status: 'READY', why: 'it has the image and was not used' };

/**
 * In this order; the first that speaks decides. What is not known stops the ones after it, for they build on
 * it.
 */
const rules: readonly Rule[] = [
  // A stopped service does not imply a changed configuration, which a load would overwrite.
  ({ by, ping }) =>
    by === 'plugin' && ping !== 'yes'
      ? unknown(
          ping === 'no' ? 'it accepts no requests at present' : 'it is unknown whether it accepts requests',
        )
      : undefined,
  ({ by, ssh, power }) =>
    by === undefined && ssh === 'yes' && power === 'off'
      ? unknown('it is reported as switched off, but SSH answers')
      : undefined,
  ({ by, ssh }) =>
    by === undefined && ssh === 'no' ? reload('it is switched off, so SSH does not answer') : undefined,
  ({ by, ssh }) =>
    by === undefined && ssh === 'unknown' ? unknown('it is unknown whether SSH answers') : undefined,
  ({ record }) => (record.is === 'missing' ? reload('it has no record of its image') : undefined),
  ({ record }) =>
    record.is === 'unknown' ? unknown('the record of its image could not be read') : undefined,
  (_, record) =>
    record !== undefined && revisionOf(record) === undefined
      ? reload('the record of its image has no revision')
      : undefined,
  (_, record, wanted) =>
    record !== undefined && wanted !== undefined && revisionOf(record) !== wanted.revision
      ? reload(`it has revision ${revisionOf(record)}, not ${wanted.revision}`)
      : undefined,
  (_, record, wanted) =>
    record !== undefined && wanted !== undefined && record.name !== wanted.name
      ? reload(`it has image ${record.name || 'without a name'}, not ${wanted.name}`)
      : undefined,
  (_, record) =>
    record !== undefined && isTainted(record)
      ? reload(`it may have been used: ${taintReasons(record).join(', ') || 'no reason given'}`)
      : undefined,
  ({ logIns }) =>
    logIns === 'yes' ? reload('a user had a terminal on it since its image was loaded') : undefined,
  ({ by }, record) =>
    by === undefined && record !== undefined && postLoadOf(record) === undefined
      ? { status: 'POST_LOAD', why: 'the steps after loading were not done' }
      : undefined,
  ({ by, check }) =>
    check === 'no'
      ? reload(
          by === 'plugin' ? 'it differs from its image' : 'its system reports that it differs from its image',
        )
      : undefined,
  ({ by, check }) =>
    check === 'unknown'
      ? unknown(`it is unknown whether ${by === 'plugin' ? 'it' : 'its system'} matches its image`)
      : undefined,
];

function bit(known: Known): 0 | 1 | null {
  if (known === 'unknown') return null;
  return known === 'yes' ? 1 : 0;
}

function powerBit(power: Power): 0 | 1 | null {
  if (power === 'unknown') return null;
  return power === 'on' ? 1 : 0;
}
