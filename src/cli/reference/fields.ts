import { describeConstraints } from '../../schema/field-constraints.js';
import type { Descriptor, FieldDeclaration } from '../../schema/descriptor.js';
import { splitDefault } from './keys.js';
import { code, codes, table, escapeMarkdown, typeWithDefault } from './markdown.js';

/** The fields of a plugin: a table of the administrators' ones, and one of the users'. */
export function fieldTable({ fields, type }: Descriptor): string {
  const titles =
    type === 'provider'
      ? { admin: 'Of the account, in heddle.yaml:', user: 'Of a group, in a cluster file:' }
      : { admin: 'Of the automator, in heddle.yaml:', user: 'Of an action, in a cluster file:' };
  const parts = (['admin', 'user'] as const).flatMap((scope) => {
    const rows = Object.entries(fields?.[scope] ?? {}).map(([key, field]) => {
      const [meaning, said = ''] = splitDefault(field.description ?? `${field.title}.`);
      const need = describeNeed(key, field, fields?.required[scope] ?? []);
      return [
        code(key),
        typeWithDefault(describeType(field), need === '' ? said : need),
        [escapeMarkdown(meaning === '' ? `${field.title}.` : meaning), ...describeUsers(field)].join(' '),
      ];
    });
    return rows.length === 0 ? [] : [titles[scope], table(['field', 'type', 'meaning'], rows)];
  });
  return parts.join('\n\n');
}

/** What groups may do with a field of the account. */
function describeUsers({ overridable }: FieldDeclaration): readonly string[] {
  if (overridable === undefined || overridable === false) return [];
  return [overridable === 'listed' ? 'Groups may set values that `allow` lists.' : 'Groups may set it, too.'];
}

function describeType(field: FieldDeclaration): string {
  const { type, options, items, secret, content } = field;
  const constraints = describeConstraints(field).map((text) =>
    text.replace(/^matching (.*)$/s, (_, pattern: string) => `matching ${code(pattern)}`),
  );
  return [
    options === undefined ? type : options.map(code).join(', '),
    ...(items === undefined ? [] : [`of ${items.options?.map(code).join(', ') ?? items.type}`]),
    ...constraints,
    ...(secret === true ? ['secret'] : []),
    ...(content === 'data' ? ['data'] : []),
  ].join(', ');
}

function describeNeed(
  key: string,
  { default: fallback, requiredWhen }: FieldDeclaration,
  sets: readonly (readonly string[])[],
): string {
  if (isInAll(key, sets)) return 'required';
  if (requiredWhen !== undefined) {
    const conditions = Object.entries(requiredWhen).map(([other, values]) =>
      values === 'given'
        ? code(other)
        : `${code(other)} ${values.map((value) => code(String(value))).join(' or ')}`,
    );
    return `required with ${conditions.join(' and ')}`;
  }
  const others = sets
    .filter((set) => !set.includes(key))
    .map((set) => set.filter((one) => !isInAll(one, sets)));
  if (others.length > 0 && others.length < sets.length)
    return `required, or ${others.map(codes).join(' or ')}`;
  if (fallback === undefined) return '';
  return code(typeof fallback === 'string' ? fallback : JSON.stringify(fallback));
}

function isInAll(key: string, sets: readonly (readonly string[])[]): boolean {
  return sets.length > 0 && sets.every((set) => set.includes(key));
}
