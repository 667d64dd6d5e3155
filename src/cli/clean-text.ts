import { stripVTControlCharacters } from 'node:util';

// All control characters but tab and newline, and those that change the direction of text.
const controls = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/gu;
const controlsOrLayout = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu;

/**
 * Text from nodes, plugins and other users, made harmless for a terminal. Lines and tabs stay;
 * a line that was overwritten repeatedly, such as a progress bar, is reduced to its last state.
 */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r+(?=\n|$)/g, '')
    .replace(/^.*\r/gm, '')
    .replace(controls, '');
}

/** The same for a single line, which may be indented. */
export function cleanLine(text: string): string {
  return stripVTControlCharacters(text).replace(controlsOrLayout, ' ').trimEnd();
}

/** JSON that holds no raw control character: JSON itself allows some that terminals obey. */
export function cleanJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
