/** Markup that may be put into a page as it is; only `html` makes it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | undefined | readonly (Markup | undefined)[];

/**
 * A template of markup: everything put into it is escaped, unless it is markup itself. Undefined puts
 * nothing.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(
    strings.map((text, index) => text + (index < parts.length ? toText(parts[index]) : '')).join(''),
  );
}

function toText(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(toText).join('\n');
  return escapeHtml(String(part));
}

/** For text and for values of attributes, which are always quoted here. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
