import { z } from 'zod';
import { eraseMethods, type Erasure } from '../../model/machine/erase.js';
import type { HardwareReading } from '../../model/machine/hardware.js';
import type { ImageRef } from '../../model/machine/image.js';
import { driftKinds, type MachineIntent } from '../../model/machine/intents.js';
import type { OperationResult } from '../../model/machine/messages.js';
import { machineStates } from '../../model/machine/transitions.js';
import { count, exactly, moment, opaque, texts, type View } from './exact.js';
import { failureSchema } from './operation.js';
import { troubleSchema } from './status.js';

const imageRef = exactly<ImageRef>()(z.object({ name: z.string(), revision: z.string() }));
const power = z.enum(['on', 'off']);
const quarantine = z.object({ by: z.string(), comment: z.string(), since: moment });

/** Why a machine is not selected, although it may work. */
export type Quarantine = View<typeof quarantine>;

const driftKind = z.enum(driftKinds);

const driftSchema = z.object({
  kind: driftKind,
  expected: z.string(),
  found: z.string(),
  since: moment,
  seen: count.describe('Consecutive equal observations; drift is reported from the second on.'),
  tries: count.describe('Failed corrections.'),
});

/** Drift of a machine, according to consecutive equal observations. */
export type Drift = View<typeof driftSchema>;

const part = { name: z.string(), model: z.string().optional(), serial: z.string().optional() };
const hardwareSchema = exactly<HardwareReading>()(
  z.object({
    at: moment,
    manufacturer: z.string().optional(),
    model: z.string().optional(),
    serial: z.string().optional(),
    firmware: z.string().optional(),
    processors: z
      .object({ count: z.number().optional(), model: z.string().optional(), cores: z.number().optional() })
      .readonly()
      .optional(),
    memoryMb: z.number().optional(),
    disks: z
      .array(z.object({ ...part, bytes: z.number().optional(), media: z.string().optional() }))
      .optional(),
    interfaces: z
      .array(z.object({ name: z.string(), mac: z.string().optional(), mbps: z.number().optional() }))
      .optional(),
    parts: z
      .array(z.object(part))
      .optional()
      .describe('Other components, such as memory modules and power supplies.'),
    sensors: z
      .array(z.object({ name: z.string(), reading: z.string(), status: z.string() }))
      .optional()
      .describe('Sensor readings at that time, as the controller reports them.'),
  }),
);

const erasureSchema = exactly<Erasure>()(
  z.object({
    at: moment,
    disks: z.array(
      z.object({
        device: z.string(),
        method: z.enum(eraseMethods),
        bytes: count,
        samples: count.describe('Blocks that were read before and after, spread over the disk.'),
        zeros: count.describe('Blocks that were zero afterwards; the others have changed.'),
        sha256: z.string().describe('Digest of the digests of these blocks, one hexadecimal line each.'),
      }),
    ),
  }),
);

const operationSchema = z
  .object({
    id: z.string(),
    /** Absent where no other operation has the id. */
    uid: z.string().optional().describe('Part of the ids of its tasks.'),
    intent: opaque<MachineIntent>('The request as Heddle stores it; may change in any release.'),
    by: z.string(),
    /** Idempotency key: a repeated request with the same key gets this operation. */
    key: z.string().optional(),
    state: z.enum(['running', 'done', 'failed', 'cancelled']),
    answer: z
      .enum(['done', 'not done', 'unknown'])
      .optional()
      .describe('For a completed operation: whether the requested state was reached.'),
    startedAt: moment,
    endedAt: moment.optional(),
    /** `leftMs`: time left when the step began, by what the steps took before. */
    step: z
      .object({ step: z.string(), number: count, of: count, since: moment, leftMs: z.number() })
      .optional(),
    result: opaque<OperationResult>(
      'Status, power, image, size or record, depending on the operation.',
    ).optional(),
    failure: failureSchema.optional(),
    /** What went otherwise than planned and did not stop it. */
    notes: texts,
  })
  .meta({ id: 'machine-operation' });

/** A request to a machine; one at a time. */
export type MachineOperation = View<typeof operationSchema>;

const machineSchema = z
  .object({
    name: z.string(),
    uid: z.string(),
    state: z.enum(machineStates),
    why: z.string().optional(),
    provider: z.string(),
    type: z.string().optional().describe('The provisioning system: the type of the provider.'),
    site: z.string().optional(),
    system: z.string().nullable().describe('The automator of its operating system.'),
    can: texts.describe('Supported actions.'),
    address: z.string().optional(),
    providerid: z.string().optional(),
    power: power.optional().describe('According to the last completed command, or a later observation.'),
    image: z.object({ ...imageRef.shape, since: moment }).optional(),
    half: imageRef.optional().describe('A load of this image started, and its result is unknown.'),
    defaultImage: imageRef,
    user: z.string().optional(),
    holder: z.object({ reservation: z.string(), user: z.string(), until: moment }).optional(),
    hardware: hardwareSchema.optional().describe('As last reported by its controller.'),
    erasure: erasureSchema.optional().describe('The last erasure of its disks, with evidence.'),
    unerased: z
      .literal(true)
      .optional()
      .describe('A user had access, and its disks have not been erased since.'),
    drift: z.array(driftSchema),
    checkedAt: moment.optional(),
    correct: z.array(driftKind).describe('Drift that is corrected automatically.'),
    groups: texts,
    labels: z.record(z.string(), z.string()),
    quarantine: quarantine.optional(),
    operation: operationSchema.optional(),
    history: z.array(operationSchema).describe('Newest first.'),
    removed: z.literal(true).optional(),
  })
  .meta({ id: 'machine' });

/** The public view of a machine; contains no payload and no fields. */
export type MachineView = View<typeof machineSchema>;

const silent = texts.describe('Names of machines that do not answer.');

export const machineDocuments = {
  computers: [
    z.object({
      computers: z.array(
        z.object({
          name: z.string(),
          system: z.string(),
          provider: z.string(),
          site: z.string(),
          state: z.enum(machineStates),
          power: power.optional(),
          user: z.string().nullable(),
          until: moment.nullable(),
          reservation: z.string().nullable(),
          groups: texts,
          labels: z.record(z.string(), z.string()),
          quarantine: quarantine.optional(),
        }),
      ),
      sites: z.array(z.object({ site: z.string(), systems: texts })),
      silent,
    }),
  ],
  machine: [z.object({ machine: machineSchema, troubles: z.array(troubleSchema) })],
  'machine-confirm-ended': [
    z.object({ machine: z.string(), what: z.string().describe('The program that was ended.') }),
  ],
  'machine-operation': [
    z.object({ machine: machineSchema, operation: operationSchema }).describe('The completed operation.'),
    z.object({ machine: z.string(), operation: z.object({ id: z.string() }) }).describe('With --no-wait.'),
  ],
  'machine-operations': [
    z
      .object({
        results: z.array(
          z.object({
            machine: z.string(),
            result: z
              .enum(['accepted', 'refused', 'unchanged', 'done', 'failed', 'cancelled'])
              .describe('unchanged: it is already registered, or has nothing to cancel.'),
            state: z.string().optional().describe('State of the machine, as text.'),
            power: z.enum(['on', 'off', 'unknown']).optional(),
            status: z
              .enum(['READY', 'POST_LOAD', 'RELOAD', 'UNKNOWN'])
              .optional()
              .describe('State of its image, from status.'),
            why: z.string().optional(),
          }),
        ),
      })
      .describe('For a pattern of machines, or a file.'),
  ],
  machines: [z.object({ machines: z.array(machineSchema), silent })],
};
