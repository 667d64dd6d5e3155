import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { splitWords } from '../model/command-words.js';

/** A command within a command within a command: `ssh host "sh -c 'cat /etc/app/token'"`. */
const maxDepth = 3;
/** How many separators a path may contain, such as the commas of `/etc/a,b,c/key`. */
const maxSeparators = 8;

/**
 * After these characters a path may begin, and before them it may end: `--from=/a`, `@/a`, `/a:/b:ro`,
 * `cat</a;id`.
 */
const separator = /[\s=@:,;'"`()<>|&{}[\]?#$!*]/;

/**
 * Files that the words of a command name: the program, if it is a path, and every path in the other words,
 * also in commands that they contain. Absolute paths count even if no such file exists; relative ones and
 * those within other text only if a file exists. No folders, which would reserve everything in them.
 */
export function filesOfWords(words: readonly string[]): readonly string[] {
  const found = new Set(
    words.flatMap((word, index) => [...pathsOfWord(word, index === 0 ? 'program' : 'text')]),
  );
  return [...found].filter((path) => !isFolder(path));
}

function* pathsOfWord(word: string, as: 'program' | 'text', depth = 1): Generator<string, void> {
  for (const text of new Set([word, decoded(word)]))
    for (const piece of new Set(piecesOf(text))) yield* pathsOfPiece(piece, as);
  if (depth < maxDepth && /[\s\\'"]/.test(word))
    for (const inner of wordsOf(word)) yield* pathsOfWord(inner, 'text', depth + 1);
}

/** The word from its beginning and from each separator, up to its end and up to the next few separators. */
function* piecesOf(word: string): Generator<string, void> {
  const at = [...word.matchAll(new RegExp(separator, 'g'))].map(({ index }) => index);
  for (const [order, start] of [-1, ...at].entries())
    for (const end of [...at.slice(order, order + maxSeparators), word.length])
      if (end > start + 1) yield word.slice(start + 1, end);
}

function* pathsOfPiece(piece: string, as: 'program' | 'text'): Generator<string, void> {
  // A program without a slash is found on the PATH.
  const mayBeRelative = as === 'text' || piece.includes('/');
  if (piece.startsWith('~/')) yield join(homedir(), piece.slice(2));
  else if (piece.startsWith('/') || (mayBeRelative && isFile(piece))) yield resolve(piece);
  // `-n/etc/key` and `--from/etc/key`.
  const glued = /^-[^/]*(\/.*)$/s.exec(piece)?.[1];
  if (glued !== undefined) yield resolve(glued);
  // `x/etc/key`, and the host of `file://localhost/etc/key`.
  if (!/^\/(?!\/)/.test(piece))
    for (const { index } of piece.matchAll(/(?<=[^/])\//g)) {
      const rest = piece.slice(index);
      if (isFile(rest)) yield resolve(rest);
    }
}

function wordsOf(line: string): readonly string[] {
  try {
    return splitWords(line);
  } catch {
    return [];
  }
}

/** `file:///etc/my%20key` */
function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
