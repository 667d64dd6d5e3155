import type { Json, JsonObject } from '../../model/json.js';
import type { Descriptor, FieldDeclaration } from '../../schema/descriptor.js';
import { missingFields } from '../../schema/missing-fields.js';
import { formatProblem, hasErrors, type Problem } from '../../schema/problem.js';
import { cleanLine } from '../clean-text.js';
import { checkField, declaredFields } from './check-draft.js';
import { parseFieldText, referenceForms } from './field-text.js';
import { describeAlternatives, describeKind, describeNeed, noFieldsDeclared } from './field-words.js';
import type { Terminal } from '../terminal.js';

/**
 * Asks for each missing administrator's field of a plugin until its value is valid, and again for fields
 * still missing at the end. Does not ask for `insecure`, which is set deliberately, by --field insecure=true
 * or in heddle.yaml.
 * @throws CliError Interrupted
 */
export async function askFields(
  terminal: Terminal,
  descriptor: Descriptor,
  given: JsonObject,
): Promise<JsonObject> {
  const declared = declaredFields(descriptor);
  if (descriptor.fields === undefined) terminal.say(noFieldsDeclared);
  let fields = given;
  const open = (): typeof declared =>
    declared.filter(([key]) => fields[key] === undefined && key !== 'insecure');
  if (open().length === 0) return fields;
  terminal.say(`${descriptor.name}: ${cleanLine(descriptor.description)}`);
  terminal.say(`Press Enter to skip a field. ${referenceForms} is a reference; typed secrets are not shown.`);
  const alternatives = describeAlternatives(descriptor);
  if (alternatives !== undefined) terminal.say(alternatives);
  let next = open();
  while (next.length > 0) {
    for (const [key, field] of next) {
      const value = await askField(terminal, descriptor, fields, [key, field]);
      if (value !== undefined) fields = { ...fields, [key]: value };
    }
    const missing = missingFields(descriptor, 'admin', fields, []);
    for (const problem of missing) terminal.say(`  ${cleanLine(formatProblem(problem))}`);
    next = missing.length === 0 ? [] : open().filter(([key]) => isNeeded(key, descriptor, missing));
  }
  return fields;
}

async function askField(
  terminal: Terminal,
  descriptor: Descriptor,
  fields: JsonObject,
  [key, field]: readonly [string, FieldDeclaration],
): Promise<Json | undefined> {
  terminal.say('');
  terminal.say(`${cleanLine(field.title)} (${describeNeed(key, descriptor)})`);
  if (field.description !== undefined) terminal.say(`  ${cleanLine(field.description)}`);
  terminal.say(`  ${cleanLine(describeKind(field))}`);
  for (;;) {
    const value = parseFieldText(field, await readValue(terminal, key, field));
    if (value === undefined) return undefined;
    const problems = checkField(key, field, value, fields);
    if (!hasErrors(problems)) return value;
    for (const problem of problems) terminal.say(`  ${cleanLine(formatProblem(problem))}`);
  }
}

/** Reads a pasted key up to its END line. */
async function readValue(terminal: Terminal, key: string, field: FieldDeclaration): Promise<string> {
  const ask = (prompt: string): Promise<string> =>
    field.secret === true ? terminal.askMasked(prompt) : terminal.ask(prompt);
  const lines = [await ask(`${key}: `)];
  if (field.type !== 'text' || !/^-----BEGIN /.test(lines[0] ?? '')) return lines.join('\n');
  while (!/^-----END /.test(lines.at(-1) ?? '')) lines.push(await ask('... '));
  return `${lines.join('\n')}\n`;
}

/** Whether a field may be missing: it is named, or it belongs to one of several alternative sets. */
function isNeeded(key: string, { fields }: Descriptor, missing: readonly Problem[]): boolean {
  const isAlternative = fields?.required.admin.some((set) => set.includes(key)) === true;
  return missing.some(({ path: [named] }) => (named === undefined ? isAlternative : named === key));
}
