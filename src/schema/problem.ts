import { withoutUserInfo } from '../model/endpoint.js';
import { holdsPrivateKey } from '../model/node/strip-secrets.js';
import { kindOfValue } from '../model/json.js';

/** Keys and indexes from the top of a document to a place in it. */
export type Path = readonly (string | number)[];

/** A place in a file; line and column count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The place of the value at a path, or of a text within it. */
export type Locate = (path: Path, excerpt?: string) => Place;

/** One problem of an input. */
export interface Problem {
  /** Warnings do not prevent use. */
  readonly severity: 'error' | 'warning';
  readonly path: Path;
  /** What is wrong. */
  readonly wrong: string;
  /** What is expected, or how to fix it. */
  readonly right?: string;
  /** The offending text, if it is only a part of the text at the path. */
  readonly excerpt?: string;
  readonly place?: Place;
}

/** Maximum number of reported problems, so that a failure with them remains small. */
export const maxProblems = 100;

/** Several problems as one error; the message contains each of them on its own line. */
export class ProblemsError extends Error {
  readonly problems: readonly Problem[];

  constructor(title: string, problems: readonly Problem[], options?: ErrorOptions) {
    super([title, ...problems.map((problem) => `  ${formatProblem(problem)}`)].join('\n'), options);
    this.name = 'ProblemsError';
    this.problems = problems;
  }
}

export function errorAt(path: Path, wrong: string, right?: string): Problem {
  return { severity: 'error', path, wrong, right };
}

/** A problem with a part of a text. */
export function errorIn(path: Path, excerpt: string, wrong: string, right?: string): Problem {
  return { ...errorAt(path, `${quoteExcerpt(excerpt)} ${wrong}`, right), excerpt };
}

function quoteExcerpt(excerpt: string): string {
  return shorten(plain(JSON.stringify(excerpt)).slice(1, -1));
}

export function warningAt(path: Path, wrong: string, right?: string): Problem {
  return { ...errorAt(path, wrong, right), severity: 'warning' };
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === 'error');
}

/** Adds the place to each problem without one, and sorts problems by file and place. */
export function placeProblems(problems: readonly Problem[], locate: Locate): readonly Problem[] {
  const placed = problems.map((problem) => ({
    ...problem,
    place: problem.place ?? locate(problem.path, problem.excerpt),
  }));
  return placed.toSorted(
    (one, other) =>
      one.place.file.localeCompare(other.place.file) ||
      one.place.line - other.place.line ||
      one.place.column - other.place.column,
  );
}

/**
 * `cluster.yaml:12:7: services.web.actions.start.type: is missing. Name of the automator that executes the action.`
 */
export function formatProblem({ severity, path, wrong, right, place }: Problem): string {
  const where = place === undefined ? [] : [`${place.file}:${place.line}:${place.column}`];
  const what = path.length === 0 ? [] : [formatPath(path)];
  const kind = severity === 'warning' ? ['warning'] : [];
  const said = right === undefined ? wrong : `${wrong.replace(/[.;]$/, '')}. ${right}`;
  return [...where, ...kind, ...what, said].join(': ');
}

/** `services.web.requires[0]`; keys that are not plain words are quoted. */
export function formatPath(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      if (!/^[\w-]+$/.test(part)) return `[${plain(JSON.stringify(shorten(part)))}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join('');
}

/**
 * A value for a message: its JSON, shortened, without user and password of addresses. Of a list
 * or mapping only what it is: its members may be secret.
 */
export function quoteValue(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) return kindOfValue(value);
  if (typeof value === 'string' && holdsPrivateKey(value)) return '(a secret)';
  return shorten(plain(withoutUserInfo(JSON.stringify(value) ?? String(value))));
}

/** Escapes terminal control and bidirectional characters, which JSON does not escape. */
function plain(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
