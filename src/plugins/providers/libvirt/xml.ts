import { PluginError } from '../../contract.js';

export interface XmlElement {
  /** With its prefix, as it is written. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (XmlElement | string)[];
}

/** For texts and attributes of XML. */
export function escapeXml(text: string): string {
  // XML 1.0 has no way to write most control characters.
  return (
    text
      // oxlint-disable-next-line no-control-regex
      .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '?')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&apos;')
      .replaceAll('\t', '&#9;')
      .replaceAll('\n', '&#10;')
      .replaceAll('\r', '&#13;')
  );
}

/**
 * Reads one whole element, strictly: what is cut off, crossed or of a document type of its own is no answer
 * of libvirt's.
 * @throws PluginError Retryable
 */
export function parseXml(text: string): XmlElement {
  const roots: XmlElement[] = [];
  const open: {
    readonly name: string;
    readonly attributes: XmlElement['attributes'];
    readonly children: (XmlElement | string)[];
  }[] = [];
  let at = 0;
  for (const token of text.matchAll(
    /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<\/([^\s<>/="']+)\s*>|<([^\s<>/="'!?]+)((?:\s+[^\s<>/="']+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/g,
  )) {
    if (token.index !== at) break;
    const [whole, data, end, name, attributes = '', closed, words] = token;
    const inside = open.at(-1)?.children;
    if (name !== undefined) {
      const element = { name, attributes: readAttributes(attributes), children: [] };
      (inside ?? roots).push(element);
      if (closed === '') open.push(element);
    } else if (end !== undefined) {
      if (open.pop()?.name !== end) break;
    } else if (inside === undefined) {
      if ((data ?? words?.trim() ?? '') !== '') break;
    } else if (data !== undefined || words !== undefined) inside.push(data ?? unescapeXml(words ?? ''));
    at += whole.length;
  }
  const [root] = roots;
  if (root === undefined || roots.length > 1 || open.length > 0 || at !== text.length)
    throw new PluginError(
      'Retryable',
      `virsh answers with XML that is cut off or none, from character ${at} on`,
    );
  return root;
}

export function writeXml({ name, attributes, children }: XmlElement): string {
  const words = Object.entries(attributes)
    .map(([key, value]) => ` ${key}='${escapeXml(value)}'`)
    .join('');
  return `<${name}${words}>${children.map((child) => (typeof child === 'string' ? escapeXml(child) : writeXml(child))).join('')}</${name}>`;
}

/** All elements that a path of names leads to from here. */
export function elementsAt(
  element: XmlElement,
  ...[name, ...more]: readonly string[]
): readonly XmlElement[] {
  if (name === undefined) return [element];
  return element.children.flatMap((child) =>
    typeof child !== 'string' && child.name === name ? elementsAt(child, ...more) : [],
  );
}

/** The text of the first element that a path leads to. */
export function textAt(element: XmlElement, ...path: readonly string[]): string | undefined {
  return elementsAt(element, ...path)[0]
    ?.children.filter((child) => typeof child === 'string')
    .join('');
}

/** The same, with the elements at a path changed. */
export function changeAt(
  element: XmlElement,
  [name, ...more]: readonly string[],
  change: (found: XmlElement) => XmlElement,
): XmlElement {
  if (name === undefined) return change(element);
  return {
    ...element,
    children: element.children.map((child) =>
      typeof child !== 'string' && child.name === name ? changeAt(child, more, change) : child,
    ),
  };
}

function readAttributes(text: string): XmlElement['attributes'] {
  return Object.fromEntries(
    [...text.matchAll(/([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, key = '', one, other]) => [
      key,
      unescapeXml(one ?? other ?? ''),
    ]),
  );
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replaceAll(
    /&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/g,
    (whole, hex: string | undefined, decimal: string | undefined, name: string | undefined) => {
      if (name !== undefined) return entities[name] ?? whole;
      const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return point <= 0x10_ff_ff ? String.fromCodePoint(point) : whole;
    },
  );
}
