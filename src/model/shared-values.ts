import type { Json } from './json.js';
import { stableJson } from './node/payload.js';

/** Different values in the order of their first use; equal ones have one index. */
export interface ValueTable<Value> {
  readonly values: readonly Value[];
  readonly indexOf: (value: Value) => number;
}

export function newValueTable<Value>(): ValueTable<Value> {
  const values: Value[] = [];
  const known = new Map<Value, number>();
  const texts = new Map<string, number>();
  return {
    values,
    indexOf: (value) => {
      // Most equal values are the same object, and texts of large ones take long.
      const text = known.has(value) ? '' : stableJson(value as Json);
      const index = known.get(value) ?? texts.get(text) ?? values.push(value) - 1;
      known.set(value, index);
      if (text !== '') texts.set(text, index);
      return index;
    },
  };
}

/** Rows of which many have an equal, large value in one field: a message states each different value once. */
export interface SharedRows<Row, Field extends keyof Row> {
  readonly rows: readonly (Omit<Row, Field> & Readonly<Record<Field, number>>)[];
  readonly values: readonly Row[Field][];
}

export function shareValues<Row extends object, Field extends keyof Row>(
  rows: readonly Row[],
  field: Field,
): SharedRows<Row, Field> {
  const { values, indexOf } = newValueTable<Row[Field]>();
  return { rows: rows.map((row) => ({ ...row, [field]: indexOf(row[field]) })), values };
}

export function spreadValues<Row extends object, Field extends keyof Row>(
  { rows, values }: SharedRows<Row, Field>,
  field: Field,
): readonly Row[] {
  return rows.map((row) => ({ ...row, [field]: values[row[field]] }) as unknown as Row);
}
