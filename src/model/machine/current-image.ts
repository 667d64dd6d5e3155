/**
 * The record that an image carries of itself: `currentimage.txt` in root's home, in the format that older
 * systems wrote. Line 1 is the image's name; then `key=value` lines; then tags as `name=value (time)`, of
 * which the last write of a name counts. Its content can be anything: root on the machine can
 * write it.
 */
export interface CurrentImage {
  readonly name: string;
  /** As the file has them; the first line of a key counts. */
  readonly values: Readonly<Record<string, string>>;
}

/** What is written into an image when it is captured. It names the machine that it was captured on. */
export interface ImageRecord {
  readonly name: string;
  readonly id: string;
  readonly prettyName: string;
  readonly revision: string;
  /** As the file shows it. */
  readonly createdAt: string;
  readonly machineId: string;
  readonly hostname: string;
}

export const recordKeys = {
  id: 'id',
  prettyName: 'prettyname',
  revision: 'imagerevision_id',
  createdAt: 'imagerevision_datecreated',
  machineId: 'computer_id',
  hostname: 'computer_hostname',
} as const;

/** Tags keep the names that older nodes and images have. */
export const tags = { postLoad: 'vcld_post_load', tainted: 'vcld_tainted' } as const;

/** How much of a record is read, in characters; the rest of a longer one is ignored. */
export const longestRecord = 32_768;

const longestValue = 1_024;

/** Undefined if the text has no meaningful line, and therefore contains no record. */
export function parseCurrentImage(text: string): CurrentImage | undefined {
  const [first, ...others] = linesOf(text);
  if (first === undefined) return undefined;
  const named = keyed(first) === undefined;
  const values = new Map<string, string>();
  for (const line of named ? others : [first, ...others]) {
    const pair = keyed(line);
    if (pair !== undefined && !values.has(pair[0])) values.set(...pair);
  }
  return { name: named ? clean(first) : '', values: Object.fromEntries(values) };
}

/** The revision that the record names; undefined where it names none. */
export function revisionOf(record: CurrentImage): string | undefined {
  const revision = record.values[recordKeys.revision];
  return revision === undefined || revision === '' ? undefined : revision;
}

/** Presence means tainted, whatever the value. */
export function isTainted(record: CurrentImage): boolean {
  return record.values[tags.tainted] !== undefined;
}

export function taintReasons(record: CurrentImage): readonly string[] {
  return reasonsOf(record.values[tags.tainted] ?? '');
}

/** When and how the steps after loading ended, as recorded; undefined if they did not. */
export function postLoadOf(record: CurrentImage): string | undefined {
  return record.values[tags.postLoad];
}

/** A fresh record without tags: a later load repeats the steps after loading. */
export function writeCurrentImage(record: ImageRecord): string {
  const line = (key: keyof typeof recordKeys): string => `${recordKeys[key]}=${clean(record[key])}`;
  return [
    clean(record.name),
    line('id'),
    line('prettyName'),
    line('revision'),
    line('createdAt'),
    line('machineId'),
    line('hostname'),
    '',
  ].join('\n');
}

/**
 * Sets a tag: removes earlier lines of it and blank lines, and appends the new one. Truncates a
 * long text, so that the tag is within the part that is read.
 */
export function setTag(text: string, name: string, value: string, at: string): string {
  return [
    ...linesOf(text.slice(0, longestRecord - 2 * longestValue)).filter(
      (line) => !line.startsWith(`${name}=`),
    ),
    `${name}=${clean(value)} (${clean(at)})`,
    '',
  ].join('\n');
}

/** Reasons for a taint accumulate; a known one is not written again. */
export function addTaint(text: string, reason: string, at: string): string {
  const before = linesOf(text)
    .filter((line) => line.startsWith(`${tags.tainted}=`))
    .flatMap((line) => reasonsOf(line.slice(tags.tainted.length + 1)));
  const reasons = [...new Set([...before, clean(reason).replaceAll(',', ';')])].filter((one) => one !== '');
  return setTag(text, tags.tainted, reasons.join(', '), at);
}

/**
 * A taint begins a line: older systems end the record without a line break, and what is
 * appended then joins its last line.
 */
function linesOf(text: string): readonly string[] {
  return text
    .slice(0, longestRecord)
    .replaceAll(`${tags.tainted}=`, `\n${tags.tainted}=`)
    .split(/\r\n|\r|\n/)
    .filter((line) => line.trim() !== '');
}

/** The value may hold `=` itself. */
function keyed(line: string): readonly [string, string] | undefined {
  const at = line.indexOf('=');
  const key = line.slice(0, Math.max(at, 0)).trim();
  return /^[A-Za-z_]\w{0,63}$/.test(key) ? [key, clean(line.slice(at + 1))] : undefined;
}

/** One line without control characters, and bounded in length. */
function clean(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\uFFFD]/gu, '')
    .trim()
    .slice(0, longestValue);
}

/** `one, two (Mon Jan 1 00:00:00 2024)` */
function reasonsOf(value: string): readonly string[] {
  return value
    .replace(/\s*\([^()]*\)\s*$/, '')
    .split(',')
    .map((reason) => reason.trim())
    .filter((reason) => reason !== '');
}
