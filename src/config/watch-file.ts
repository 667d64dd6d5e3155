import { readTextFile } from '../schema/read-text.js';

/** Interval of reads, in ms. A file that is being written differs from one read to the next. */
const everyMs = 2_000;
const largest = 1024 * 1024;

/**
 * Polls a file, which may be a link or be replaced, and calls `onChange` when its content has changed and
 * is equal in two consecutive reads. `missing` is the reason why it cannot be read. Calls do not overlap.
 * @returns a function that stops it.
 */
export function watchFile(
  file: string,
  onChange: (missing: string | undefined) => Promise<void>,
  intervalMs = everyMs,
): () => void {
  const isChange = changes(contentOf(file));
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const check = async (): Promise<void> => {
    const now = contentOf(file);
    if (isChange(now)) await onChange('wrong' in now ? now.wrong : undefined);
    if (!isEnded) checkLater();
  };
  const checkLater = (): void => {
    timer = setTimeout(() => void check(), intervalMs).unref();
  };
  checkLater();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

type Content = { readonly text: string } | { readonly wrong: string };

function contentOf(file: string): Content {
  const read = readTextFile(file, largest);
  return read.ok ? { text: read.text } : { wrong: read.wrong };
}

/** Returns whether a content is new and equal to the previous read. */
export function changes(first: Content): (now: Content) => boolean {
  const textOf = (content: Content): string => JSON.stringify(content);
  let seen = textOf(first);
  let last = seen;
  return (content) => {
    const now = textOf(content);
    const isSettled = now === last;
    last = now;
    if (!isSettled || now === seen) return false;
    seen = now;
    return true;
  };
}
