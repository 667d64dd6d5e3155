import { z } from 'zod';
import type { Json } from '../../model/json.js';
import { labelRule } from '../../model/cluster/labels.js';
import { parseImageRef } from '../../model/machine/image.js';
import { driftKinds } from '../../model/machine/intents.js';
import type { Registration } from '../../model/machine/state.js';
import { hostKeySchema } from '../config-accounts.js';
import { groupSchema, labelsSchema } from '../machine-tags.js';
import { foreignNameSchema, pluginNameSchema } from '../names.js';
import { errorAt, type Problem } from '../problem.js';
import { problemsFromZod } from '../zod-problems.js';

const nameRule = 'Lower-case letters, digits and hyphens; at most 50 characters.';
const text = z.string().min(1);
const port = z.int().min(1).max(65_535);
const referenceRule =
  'A reference that workers resolve: {secret: "file:PATH"}, env:NAME or vault:PATH#FIELD. In a CSV table, use the column NAME.secret.';
const reference = z
  .strictObject({ secret: text.regex(/^(file|env|vault):./).meta({ description: referenceRule }) })
  .meta({ description: referenceRule, writeOnly: true });
const imageRule = 'name, or name@revision, of letters, digits, dots, underscores and hyphens';

/**
 * An entry of an inventory file, as a registration reads it. Addresses, logins and controllers
 * belong to the provider account, whose workers validate them again.
 */
const entrySchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/)
    .meta({ title: 'Name', description: nameRule }),
  address: text.optional().meta({ title: 'Address', description: 'Name or address, as workers see it.' }),
  port: port.optional().meta({ title: 'Port', description: 'SSH port. Default: that of the account.' }),
  user: text.optional().meta({ title: 'User', description: 'Login name. Default: that of the account.' }),
  password: reference.optional().meta({ title: 'Password', description: `Login password. ${referenceRule}` }),
  key: reference.optional().meta({ title: 'Key', description: `Private key. ${referenceRule}` }),
  keyFile: text
    .optional()
    .meta({ title: 'Key file', description: 'File of the private key on the workers.' }),
  agent: reference
    .optional()
    .meta({ title: 'Agent', description: `Socket of an SSH agent on the workers. ${referenceRule}` }),
  hostKey: z
    .union([hostKeySchema, z.array(hostKeySchema).min(1)])
    .optional()
    .meta({
      title: 'Host key',
      description: 'Public host key, or a list of them, as ssh-keyscan prints it without the host.',
    }),
  slots: z
    .int()
    .min(1)
    .optional()
    .meta({ title: 'Slots', description: 'Number of nodes that the machine takes at a time.' }),
  controller: z
    .looseObject({
      host: text.optional().meta({ title: 'Host', description: 'Address of the controller (ipmi).' }),
      url: text.optional().meta({ title: 'URL', description: 'Address of the controller (redfish).' }),
      port: port.optional().meta({ title: 'Port', description: 'UDP port of the controller (ipmi).' }),
      user: text.optional().meta({ title: 'User', description: 'Login name at the controller.' }),
      password: reference
        .optional()
        .meta({ title: 'Password', description: `Password at the controller. ${referenceRule}` }),
    })
    .optional()
    .meta({ title: 'Controller', description: 'The management controller: host or url, user, password.' }),
  flavor: foreignNameSchema
    .optional()
    .meta({ title: 'Flavor', description: 'The hardware of groups that may use the machine.' }),
  image: foreignNameSchema
    .optional()
    .meta({ title: 'Image', description: 'The image of groups that may use the machine.' }),
  system: pluginNameSchema
    .optional()
    .meta({
      title: 'System',
      description: 'The automator of its operating system; none for a machine without one.',
    }),
  defaultImage: z
    .string()
    .refine((written) => parseImageRef(written) !== undefined, {
      error: `is not a valid image: use ${imageRule}`,
    })
    .optional()
    .meta({
      title: 'Default image',
      description: `Image that is loaded after a reservation if no other follows: ${imageRule}.`,
    }),
  correct: z
    .array(z.enum(driftKinds))
    .optional()
    .meta({ title: 'Correct', description: 'Drift that periodic checks correct. Default: none.' }),
  groups: z
    .union([z.array(groupSchema), z.string().transform(splitWords).pipe(z.array(groupSchema))])
    .optional()
    .meta({ title: 'Groups', description: 'Groups of the machine: a list, or words in a CSV table.' }),
  labels: labelsSchema.optional().meta({ title: 'Labels', description: labelRule }),
});

/** The form of an inventory file that is Heddle's own. */
export const machinesFileSchema = z.strictObject({
  machines: z
    .array(entrySchema)
    .meta({ title: 'Machines', description: 'The machines, each under a unique name.' }),
});

function splitWords(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** A machine of an inventory file to register. */
export interface FileRegistration {
  readonly name: string;
  readonly registration: Registration;
}

export type RegistrationsReading =
  | { readonly ok: true; readonly machines: readonly FileRegistration[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

interface Entry {
  readonly value: Json;
  readonly line?: number;
}

/**
 * Validates the whole file. Each entry extends or overrides `defaults`, and names a machine of the account.
 */
export function readRegistrations(
  entries: readonly Entry[],
  file: string,
  defaults: Registration,
): RegistrationsReading {
  const content = { machines: entries.map(({ value }) => value) };
  const placed = (problem: Problem): Problem => {
    const line = entries[Number(problem.path[1])]?.line;
    return line === undefined ? problem : { ...problem, place: { file, line, column: 1 } };
  };
  const parsed = machinesFileSchema.safeParse(content);
  if (!parsed.success)
    return { ok: false, problems: problemsFromZod(machinesFileSchema, parsed.error, content).map(placed) };
  const problems: Problem[] = [];
  const lines = new Map<string, number | undefined>();
  const machines = parsed.data.machines.map((entry, index): FileRegistration => {
    const { name, system, flavor, image, defaultImage, correct, groups, labels } = entry;
    if (lines.has(name)) {
      const before = lines.get(name);
      const where = before === undefined ? 'is listed twice' : `is already listed in line ${before}`;
      const path = ['machines', index, 'name'];
      problems.push(placed(errorAt(path, `${name} ${where}`, 'Give each machine a unique name.')));
    } else lines.set(name, entries[index]?.line);
    const registration: Registration = {
      ...defaults,
      fields: { ...defaults.fields, machine: name },
      ...(system === undefined ? {} : { system: system === 'none' ? null : system }),
      ...(flavor === undefined ? {} : { flavor }),
      ...(image === undefined ? {} : { image }),
      ...(defaultImage === undefined ? {} : { defaultImage: parseImageRef(defaultImage) }),
      ...(correct === undefined ? {} : { correct }),
      ...(groups === undefined ? {} : { groups }),
      ...(labels === undefined ? {} : { labels: { ...defaults.labels, ...labels } }),
    };
    return { name, registration };
  });
  if (entries.length === 0)
    problems.push({
      ...errorAt([], 'has no machines', 'List them under machines: [...].'),
      place: { file, line: 1, column: 1 },
    });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, machines };
}
