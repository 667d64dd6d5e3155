import { who } from '../argument-shapes.js';
import { replies, row, type Contract } from '../contract.js';
import {
  count,
  id,
  list,
  nullable,
  object,
  oneOf,
  optional,
  outline,
  record,
  text,
  typed,
  type Shape,
  type ValueOf,
} from '../shape.js';
import { resourceFormats } from './reference.js';
import type { Catalogue, PrunedVersion, Pruning, PutRequest } from './state.js';
import type { ResourceRecord, ResourceVersion } from '../../schema/output/resource.js';

/** A stored content of a resource. */
const content = { digest: text(100), format: oneOf(...resourceFormats), bytes: count(), parts: count() };
const resource = replies<ResourceRecord>();

const putRequest: Shape<PutRequest> = object({ name: id(), by: who(), ...content });
const pruning: Shape<Pruning> = object({ used: list(text(100), 100_000), before: text(40) });

/** The catalogue of resources. */
export const artifactsContract = {
  ids: /^artifacts$/,
  start: [optional(typed<{ readonly carried: Catalogue }>(object({ carried: record(outline({}), 10_000) })))],
  updates: {
    put: row('Add a version whose content was sent.', [putRequest], replies<ResourceVersion>()),
    set: row('Make a name refer to a version, or to none.', [id(), nullable(count())], resource),
    rollback: row('Make a name refer to its previous version.', [id()], resource),
    prune: row('Remove unused versions and their content.', [pruning], replies<readonly PrunedVersion[]>()),
  },
  signals: {},
  queries: { catalogue: row('All resources and their versions.', [], replies<Catalogue>()) },
} satisfies Contract;

const partHeader = object({
  ...content,
  /** From 0. */
  part: count(),
});

/** A part of a resource's content. */
export const artifactPartContract = {
  ids: /^artifact\//,
  start: [
    partHeader,
    // The content: deflated, in Base64.
    text(1_000_000, 0),
  ],
  updates: {},
  signals: {
    keep: row('The catalogue of resources has this content now.', []),
    drop: row('The content is no longer needed.', []),
  },
  queries: {},
} satisfies Contract;

/** The first argument of a part. */
export type PartHeader = ValueOf<typeof partHeader>;
