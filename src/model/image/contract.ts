import { asked, carried, spec, who } from '../argument-shapes.js';
import { replies, row, type Contract, type RequestOf } from '../contract.js';
import type { RecordsReply } from '../move.js';
import { disownRow, leasedRow, ownersRow, periodicCheckRow, usedResourcesRow } from '../shared-messages.js';
import { count, flag, object, optional, text, withField } from '../shape.js';
import type { ImageView } from '../../schema/output/image.js';
import type { ImageSpec } from './spec.js';
import type { ImageState } from './state.js';

export interface ConfigureImageReply {
  readonly unchanged: boolean;
  readonly uid: string;
  /** Accounts whose uploads are being deleted, because the image does not name them any more. */
  readonly withdrawn: readonly string[];
}

export interface BuildReply {
  /** Number of the build. */
  readonly build: number;
}

const build = replies<BuildReply>();
/** Absent: building. */
const account = { provider: optional(text(200)) };

export const imageContract = {
  ids: /^image\/[^/]+$/,
  start: [
    optional(
      withField<unknown, unknown>(
        { carried: carried({ name: text(200), uid: text(100) }) },
        object({ uid: optional(text(100)) }),
      ),
    ),
  ],
  updates: {
    configure: row(
      'Apply a description of how the image is made.',
      [object({ spec: spec(), by: who() })],
      replies<ConfigureImageReply>(),
    ),
    build: row('Build the image; the request stays until a build succeeds.', [asked()], build),
    cancel: row(
      'Cancel the build under way and the request for it; confirm that machines of earlier builds do not exist.',
      [asked()],
      build,
    ),
    rollback: row('Delete the newest build, so that the previous one is offered.', [asked()], build),
    upload: row('Retry the failed uploads of the newest build now.', [asked()], build),
    pause: row('Pause building, or only uploads to one provider account.', [asked(account)]),
    resume: row('Resume building, or only uploads to one provider account.', [asked(account)]),
    delete: row('Delete one build, or all builds and the image.', [
      asked({
        /** Its number; absent: the whole image. */
        build: optional(count()),
      }),
    ]),
    export: row('Stop for a move to another server or namespace, or continue.', [
      asked({
        /** Continue here. */
        cancel: optional(flag),
      }),
    ]),
    disown: disownRow,
  },
  signals: {
    check: periodicCheckRow,
    watch: row('Notify a pool of the versions offered, now and after each change.', [
      object({ workflowId: text(200) }),
    ]),
  },
  queries: {
    image: row('Builds, uploads and current work.', [], replies<ImageView>()),
    spec: row('How the image is made.', [], replies<ImageSpec | null>()),
    records: row(
      'The records of an exported image; null unless it is exported.',
      [],
      replies<RecordsReply<ImageState> | null>(),
    ),
    usedResources: usedResourcesRow,
    leased: leasedRow,
    owners: ownersRow,
  },
} satisfies Contract;

export type ConfigureImageRequest = RequestOf<typeof imageContract.updates.configure>;
