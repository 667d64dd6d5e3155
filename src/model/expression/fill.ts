import { isJsonObject, type Json } from '../json.js';
import { isExpression, mayHoldExpressions, splitText, type Expression } from './parse.js';

/** An expression without a value. The message contains the reason, and never a value. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** The value of an expression; undefined leaves it as it is written. @throws ExpressionError */
export type Evaluate = (expression: Expression) => Json | undefined;

/** How literal text is written into the result: as it is, or so that it is read as text once more. */
type Render = (text: string) => string;

/**
 * Puts values in the place of expressions. A text that is one expression becomes its value, of any type;
 * within a text a list becomes its items with blanks between them, and a mapping JSON.
 */
export function fillText(text: string, evaluate: Evaluate, render: Render): Json {
  if (!mayHoldExpressions(text)) return text;
  const parts = splitText(text);
  const [only, ...more] = parts;
  if (more.length === 0 && isExpression(only)) {
    const value = evaluate(only);
    return value === undefined ? only.written : renderAll(value, render);
  }
  let filled = '';
  let literal = '';
  for (const part of parts) {
    const value = isExpression(part) ? evaluate(part) : undefined;
    if (typeof part === 'string') literal += part;
    else if (value !== undefined) literal += textOf(value);
    else {
      filled += render(literal) + part.written;
      literal = '';
    }
  }
  return filled + render(literal);
}

/** `fillText` for every text in a value. */
export function fillValue(value: Json, evaluate: Evaluate): Json {
  return mapTexts(value, (text) => fillText(text, evaluate, (literal) => literal));
}

function renderAll(value: Json, render: Render): Json {
  return mapTexts(value, render);
}

function mapTexts(value: Json, change: (text: string) => Json): Json {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item: Json) => mapTexts(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}

function textOf(value: Json): string {
  if (typeof value === 'string') return value;
  if (value === null) return '';
  if (Array.isArray(value) && value.every((item: Json) => typeof item !== 'object'))
    return value.map((item: Json) => textOf(item)).join(' ');
  return JSON.stringify(value);
}
