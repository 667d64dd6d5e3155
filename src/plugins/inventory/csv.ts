import type { Json } from '../../model/json.js';

/** Columns with numbers, by the last part of their names. */
const numbers: readonly string[] = ['port', 'slots', 'cipher'];

/**
 * Machines of a CSV table. The first line names the columns; a dot starts a nested key, such as
 * `controller.password.secret`. Empty cells and lines are skipped.
 * @throws Error with the line.
 */
export function readCsv(text: string): readonly { readonly value: Json; readonly line: number }[] {
  const [head, ...records] = splitRecords(text);
  if (head === undefined) throw new Error('is empty; its first line names the columns, such as name,address');
  const columns = head.cells.map((cell) => cell.trim());
  for (const [index, column] of columns.entries()) {
    if (!/^[A-Za-z]\w*(\.[A-Za-z]\w*)*$/.test(column))
      throw new Error(
        `line ${head.line}: column ${index + 1} has no name; names are such as address or controller.host`,
      );
    if (columns.indexOf(column) < index) throw new Error(`line ${head.line}: column ${column} is duplicated`);
  }
  return records.map(({ cells, line }) => {
    if (cells.length !== columns.length)
      throw new Error(
        `line ${line}: has ${cells.length} cells but ${columns.length} columns; quote cells that contain a comma`,
      );
    const machine: Mapping = {};
    for (const [index, column] of columns.entries()) {
      const cell = (cells[index] ?? '').trim();
      if (cell !== '') put(machine, column.split('.'), valueOf(column, cell), line);
    }
    return { value: machine, line };
  });
}

interface Mapping {
  [key: string]: Json | Mapping;
}

interface TableRecord {
  readonly cells: readonly string[];
  readonly line: number;
}

function put(into: Mapping, [key = '', ...rest]: readonly string[], value: Json, line: number): void {
  if (rest.length === 0) {
    if (into[key] !== undefined) throw new Error(`line ${line}: ${key} is both a value and a mapping`);
    into[key] = value;
    return;
  }
  const inner = (into[key] ??= {});
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
    throw new Error(`line ${line}: ${key} is both a value and a mapping`);
  put(inner as Mapping, rest, value, line);
}

function valueOf(column: string, cell: string): Json {
  const name = column.split('.').at(-1) ?? '';
  if (numbers.includes(name) && /^\d+$/.test(cell)) return Number(cell);
  if (name === 'insecure' && (cell === 'true' || cell === 'false')) return cell === 'true';
  return cell;
}

/** Quoted cells may contain commas and line breaks; a quote in them is doubled. */
function splitRecords(text: string): readonly TableRecord[] {
  const records: TableRecord[] = [];
  let cells: string[] = [];
  let cell = '';
  let quotedSince: number | undefined;
  let line = 1;
  let began = 1;
  const end = (): void => {
    cells.push(cell);
    if (cells.some((one) => one.trim() !== '')) records.push({ cells, line: began });
    cells = [];
    cell = '';
  };
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  for (let at = 0; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === '\n') line += 1;
    if (quotedSince !== undefined) {
      if (character !== '"') cell += character;
      else if (source.charAt(at + 1) === '"') cell += source.charAt((at += 1));
      else quotedSince = undefined;
    } else if (character === '"' && cell.trim() === '') {
      quotedSince = line;
      cell = '';
    } else if (character === ',') {
      cells.push(cell);
      cell = '';
    } else if (character === '\n') {
      end();
      began = line;
    } else cell += character;
  }
  if (quotedSince !== undefined) throw new Error(`line ${quotedSince}: the quote is not closed`);
  end();
  return records;
}
