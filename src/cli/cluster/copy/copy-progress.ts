import { cleanLine } from '../../clean-text.js';
import { formatCount } from '../../format.js';
import type { Output } from '../../output.js';
import { cutTo } from '../../table.js';

/** How much of a copy is done. */
export interface Amount {
  readonly files: number;
  readonly bytes: number;
}

const everyMs = 200;

/** Shows the amount in one line of a terminal until the copy ends; nothing elsewhere or with --json. */
export async function withProgress<Result>(
  { json }: Output,
  title: string,
  amount: () => Amount,
  work: () => Promise<Result>,
): Promise<Result> {
  const { stderr } = process;
  if (json || !stderr.isTTY) return work();
  const since = performance.now();
  const show = (): void => {
    const rate = (amount().bytes / Math.max(1, performance.now() - since)) * 1_000;
    const text = `${cleanLine(title)}: ${describeAmount(amount())}, ${formatBytes(rate)}/s`;
    stderr.write(`\r\u001B[K${cutTo(text, stderr.columns - 1)}`);
  };
  const timer = setInterval(show, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    stderr.write('\r\u001B[K');
  }
}

/** `3 files, 1.2 MiB`. */
export function describeAmount({ files, bytes }: Amount): string {
  return `${formatCount(files, 'file')}, ${formatBytes(bytes)}`;
}

function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1_024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1_024 ** power;
  return `${power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}
