import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const root = join(import.meta.dirname, '..', '..', '..');

interface SyntaxNode {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Stands for a value that a text is filled with. */
const hole = '…';

/** A text of the sources. */
export interface SourceText {
  /** With `…` for each value in it. */
  readonly text: string;
  /** The error that holds it, if the code of that error is a literal. */
  readonly error?: { readonly name: string; readonly code: string };
}

/** The texts that the sources in src hold, apart from the excluded folder. */
export function sourceTexts(excluded: string): readonly SourceText[] {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src'], {
    cwd: root,
    encoding: 'utf8',
  });
  return files
    .trim()
    .split('\n')
    .filter((file) => file.endsWith('.ts') && !file.startsWith(excluded))
    .flatMap((file) => textsIn(parseAst(readFileSync(join(root, file), 'utf8'), { lang: 'ts' })));
}

/** Texts that are joined by `+` count as one. */
function textsIn(value: unknown, error?: SourceText['error']): readonly SourceText[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, error));
  if (!isNode(value)) return [];
  const text = textOf(value);
  const inner = errorOf(value) ?? error;
  return [
    ...(text === undefined ? [] : [{ text, error: inner }]),
    ...Object.values(value).flatMap((member) => textsIn(member, inner)),
  ];
}

/** Of `new CliError('Refused', …)`, or of an error whose class has one code. */
function errorOf({ type, callee, arguments: given }: SyntaxNode): SourceText['error'] {
  if (type !== 'NewExpression' || !isNode(callee) || !Array.isArray(given)) return undefined;
  const [first, options] = given as readonly unknown[];
  const name = callee['name'];
  if (typeof name !== 'string' || !name.endsWith('Error')) return undefined;
  if (name === 'KeyError') return { name, code: codeIn(options) ?? 'Invalid' };
  const code = codesOfClasses[name] ?? literalOf(first);
  return code !== undefined && /^[A-Z][A-Za-z]+$/.test(code) ? { name, code } : undefined;
}

/** As `heddle` reports them. */
const codesOfClasses: Readonly<Record<string, string>> = {
  MissingKeyError: 'Encryption',
  ProblemsError: 'Invalid',
  ServerUnreachableError: 'NoServer',
  PortRefusedError: 'Invalid',
  DataFolderInUseError: 'Refused',
};

function literalOf(node: unknown): string | undefined {
  return isNode(node) && node.type === 'Literal' && typeof node['value'] === 'string'
    ? node['value']
    : undefined;
}

/** Of `{ code: 'Encryption', … }`. */
function codeIn(options: unknown): string | undefined {
  if (!isNode(options) || options.type !== 'ObjectExpression') return undefined;
  const members = (options['properties'] as readonly unknown[]).filter(isNode);
  const code = members.find(({ key }) => isNode(key) && key['name'] === 'code');
  return literalOf(code?.['value']);
}

function textOf(node: SyntaxNode): string | undefined {
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : undefined;
  if (node.type === 'TemplateLiteral')
    return (node['quasis'] as readonly { readonly value: { readonly cooked: string } }[])
      .map(({ value }) => value.cooked)
      .join(hole);
  if (node.type !== 'BinaryExpression' || node['operator'] !== '+') return undefined;
  const [left, right] = [node['left'], node['right']].map((side) =>
    isNode(side) ? textOf(side) : undefined,
  );
  return left === undefined && right === undefined ? undefined : `${left ?? hole}${right ?? hole}`;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value;
}
