import { taintOf } from '../model/expression/origin.js';
import { isExpression, splitText, textsIn, type PlacedText } from '../model/expression/parse.js';
import { wordRule } from '../model/expression/word.js';
import type { JsonObject } from '../model/json.js';
import type { Descriptor, FieldDeclaration } from './descriptor.js';
import { errorIn, type Path, type Problem } from './problem.js';

type Declared = Pick<Descriptor, 'fields'>;

/**
 * Refuses tainted expressions in code fields of an action, where a value of a node, a provider or
 * another cluster could execute commands. A field is code unless the descriptor declares it as data.
 */
export function checkTainted(
  descriptor: Declared,
  fields: JsonObject,
  path: Path,
  isImported: (variable: string) => boolean,
): readonly Problem[] {
  return textsIn(fields).flatMap(({ path: place, text }) => {
    const code = codeAt(descriptor, place);
    if (code === undefined) return [];
    const { why, refusesWords = false } = code;
    return splitText(text).flatMap((part): readonly Problem[] => {
      if (!isExpression(part)) return [];
      const { mustBeWord: _mustBeWord, ...bare } = part;
      const taint = taintOf(refusesWords ? bare : part, isImported);
      if (taint === undefined) return [];
      const name = part.words.join('.');
      const right = refusesWords ? 'Use a literal value.' : waysOut(descriptor, name);
      return [errorIn([...path, ...place], part.written, `is ${taint}, and ${why}`, right)];
    });
  });
}

interface Code {
  readonly why: string;
  /** Even a single word can select what runs: a program, an option, a connection. */
  readonly refusesWords?: true;
}

/** Why the text at a place of the fields is code; undefined if it is data. */
function codeAt(descriptor: Declared, [field, key, ...below]: PlacedText['path']): Code | undefined {
  const declared = fieldNamed(descriptor, String(field));
  if (declared?.content !== 'data')
    return { why: `the field ${field} is code, which such a value could alter` };
  if (declared.type !== 'map') return undefined;
  if (key === undefined)
    return {
      why: `it would determine the keys of the field ${field}, not only their values`,
      refusesWords: true,
    };
  if (declared.codeKeys === undefined || !new RegExp(declared.codeKeys).test(String(key))) return undefined;
  return {
    why: `${[key, ...below].join('.')} in the field ${field} determines what runs`,
    refusesWords: true,
  };
}

function waysOut(descriptor: Declared, name: string): string {
  const { admin = {}, user = {} } = descriptor.fields ?? {};
  const data = Object.entries({ ...admin, ...user }).flatMap(([key, { content }]) =>
    content === 'data' ? [key] : [],
  );
  const word = `\${{ word(${name}) }}, which accepts only ${wordRule}`;
  return data.length === 0
    ? `Write ${word}.`
    : `Pass it in a data field (${data.join(', ')}), or write ${word}.`;
}

function fieldNamed({ fields }: Declared, name: string): FieldDeclaration | undefined {
  const declared = { ...fields?.admin, ...fields?.user };
  return Object.hasOwn(declared, name) ? declared[name] : undefined;
}
