import { XMLParser, XMLValidator } from 'fast-xml-parser';
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

const common = {
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  cdataPropName: '#cdata',
} as const;
const parser = new XMLParser({
  ...common,
  htmlEntities: true,
  ignoreDeclaration: true,
  parseAttributeValue: false,
  parseTagValue: false,
  trimValues: false,
});

/**
 * Reads one whole element. Refuses XML that is incomplete or has a document type.
 * @throws PluginError Retryable
 */
export function parseXml(text: string): XmlElement {
  const valid = XMLValidator.validate(text);
  const roots =
    valid === true && !/<!DOCTYPE/i.test(text)
      ? (parser.parse(text) as readonly ParsedNode[]).flatMap(toElement)
      : [];
  const [root, ...more] = roots.filter((node) => typeof node !== 'string');
  if (root !== undefined && more.length === 0) return root;
  const why = typeof valid === 'object' ? valid.err.msg : 'it has no single root';
  throw new PluginError('Retryable', `virsh answers with malformed XML: ${why}`);
}

/** A node of the parser: one key with its content, and attributes under `:@`. */
type ParsedNode = Readonly<Record<string, unknown>>;

function toElement(node: ParsedNode): readonly (XmlElement | string)[] {
  const [name = ''] = Object.keys(node).filter((key) => key !== ':@');
  const content = node[name];
  if (name === '#text') return [String(content)];
  const children = Array.isArray(content) ? (content as readonly ParsedNode[]) : [];
  if (name === '#cdata') return children.flatMap(toElement);
  const attributes = (node[':@'] ?? {}) as XmlElement['attributes'];
  return [{ name, attributes, children: children.flatMap(toElement) }];
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
