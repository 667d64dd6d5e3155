import { taintOf } from '../model/expression/origin.js';
import { isExpression, splitText, textsIn, type PlacedText } from '../model/expression/parse.js';
import { wordRule } from '../model/expression/word.js';
import type { JsonObject } from '../model/json.js';
import type { Descriptor, FieldDeclaration } from './descriptor.js';
import { errorIn, type Path, type Problem } from './problem.js';

type Declared = Pick<Descriptor, 'fields'>;

/**
 * Refuses tainted expressions in the fields of an action that are code: there a value of a node, a provider or
 * another cluster could run commands. A field is code unless the descriptor declares it data.
 */
export function checkTainted(
  descriptor: Declared,
  fields: JsonObject,
  path: Path,
  isImported: (variable: string) => boolean,
): readonly Problem[] {
  return textsIn(fields).flatMap(({ path: place, text }) => {
    const why = codeAt(descriptor, place);
    if (why === undefined) return [];
    return splitText(text).flatMap((part): readonly Problem[] => {
      const taint = isExpression(part) ? taintOf(part, isImported) : undefined;
      if (!isExpression(part) || taint === undefined) return [];
      return [
        errorIn(
          [...path, ...place],
          part.written,
          `is ${taint}, and ${why}`,
          waysOut(descriptor, part.words.join('.')),
        ),
      ];
    });
  });
}

/** Why the text at a place of the fields is code; undefined if it is data. */
function codeAt(descriptor: Declared, [field, key, ...below]: PlacedText['path']): string | undefined {
  const declared = fieldNamed(descriptor, String(field));
  if (declared?.content !== 'data') return `the field ${field} is code, which such a value could change`;
  if (declared.type !== 'map') return undefined;
  if (key === undefined) return `it would choose the names in the field ${field}, not only their values`;
  return declared.codeKeys !== undefined && new RegExp(declared.codeKeys).test(String(key))
    ? `${[key, ...below].join('.')} in the field ${field} is code, which such a value could change`
    : undefined;
}

function waysOut(descriptor: Declared, name: string): string {
  const { admin = {}, user = {} } = descriptor.fields ?? {};
  const data = Object.entries({ ...admin, ...user }).flatMap(([key, { content }]) =>
    content === 'data' ? [key] : [],
  );
  const word = `\${{ word(${name}) }}, which accepts only ${wordRule}`;
  return data.length === 0
    ? `Write ${word}.`
    : `Pass it in a field for data (${data.join(', ')}), or write ${word}.`;
}

function fieldNamed({ fields }: Declared, name: string): FieldDeclaration | undefined {
  const declared = { ...fields?.admin, ...fields?.user };
  return Object.hasOwn(declared, name) ? declared[name] : undefined;
}
