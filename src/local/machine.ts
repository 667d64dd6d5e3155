import { z } from 'zod';

/** `failed`: it died, or could not boot; `reason` says why. A deleted machine is no longer listed. */
export const machineStates = ['pending', 'booting', 'running', 'stopped', 'failed', 'deleting'] as const;

export const kindNames = ['sandbox', 'directory'] as const;
export type KindName = (typeof kindNames)[number];

/** Writing an image onto a machine, or making one of it: the last that was begun. */
const jobSchema = z.object({
  kind: z.enum(['load', 'capture']),
  image: z.string(),
  token: z.string(),
  /** For the image of a capture. */
  tags: z.record(z.string(), z.string()).default({}),
  state: z.enum(['running', 'done', 'failed']),
  reason: z.string().optional(),
});
export type Job = z.infer<typeof jobSchema>;

/** A machine as it is kept on disk. */
export const machineSchema = z.object({
  id: z.string(),
  token: z.string(),
  /** Digest of what CREATE asked for: the same token with another one is refused. */
  requestDigest: z.string(),
  key: z.string(),
  hostname: z.string(),
  flavor: z.string(),
  image: z.string(),
  tags: z.record(z.string(), z.string()),
  publicKeys: z.array(z.string()),
  kind: z.enum(kindNames),
  state: z.enum(machineStates),
  reason: z.string().optional(),
  address: z.string(),
  port: z.number().int(),
  user: z.string(),
  password: z.string(),
  hostKey: z.object({ public: z.string(), private: z.string() }),
  /** RFC 3339. */
  createdAt: z.string(),
  /** Lists and describes show it from then on (ms since 1970): a scripted lag. */
  visibleAt: z.number().optional(),
  job: jobSchema.optional(),
  faults: z.object({
    neverBoots: z.literal(true).optional(),
    noSsh: z.literal(true).optional(),
    diesAfterMs: z.number().optional(),
  }),
});
export type MachineRecord = z.infer<typeof machineSchema>;

/** A machine as lists show it. */
export function summaryOf(machine: MachineRecord) {
  const { id, state, reason, key, hostname, flavor, image, tags, kind, address, port, createdAt } = machine;
  return { id, state, reason, key, hostname, flavor, image, tags, kind, address, port, createdAt };
}

/** A machine with its login, as describe shows it. */
export function detailsOf(machine: MachineRecord) {
  return {
    ...summaryOf(machine),
    user: machine.user,
    password: machine.password,
    hostKey: machine.hostKey.public,
  };
}
