import { z } from 'zod';
import { unsafeText } from '../../model/safe-text.js';
import type { ConsoleCommand } from '../machine-abilities.js';
import { port } from '../provider-base/fields.js';

const argument = z
  .string()
  .refine((text) => unsafeText(text) === undefined, {
    error: 'must be text without spaces and quotes that does not begin with -',
  });

/** An IPMI 2.0 controller on the network. */
export const ipmiSchema = z.strictObject({
  host: argument,
  port: port.default(623),
  user: argument,
  password: z.string(),
  cipher: z.int().min(0).max(17).default(3),
  /** Timeout of an answer, and how often a request is sent again. */
  timeoutSeconds: z.int().min(1).max(60).default(1),
  retries: z.int().min(0).max(20).default(2),
});
export type IpmiController = z.output<typeof ipmiSchema>;

/**
 * A command of ipmitool. The password is in the environment, where other users cannot see it. The cipher is
 * fixed, because probing takes seconds.
 */
export function ipmitool(
  { host, port: number, user, cipher, password, timeoutSeconds, retries }: IpmiController,
  words: readonly string[],
): Required<ConsoleCommand> {
  const target = ['-H', host, '-p', String(number), '-U', user, '-E', '-C', String(cipher)];
  const patience = ['-N', String(timeoutSeconds), '-R', String(retries)];
  return {
    command: ['ipmitool', '-I', 'lanplus', ...target, ...patience, ...words],
    environment: { IPMI_PASSWORD: password },
  };
}
