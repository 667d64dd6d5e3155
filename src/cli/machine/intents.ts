import type { MachineRequestIntent } from '../../model/machine/intents.js';
import { isLabelKey, labelRule, parseLabel, type Labels } from '../../model/cluster/labels.js';
import { parseDuration } from '../../model/duration.js';
import type { ImageRef } from '../../model/machine/image.js';
import { CliError } from '../errors.js';

interface LimitOptions {
  /** Longest time over all, as a duration. */
  readonly within?: string;
}

export function loadIntent(
  image: ImageRef,
  options: LimitOptions & { readonly force?: true; readonly only?: 'post-load' },
): MachineRequestIntent {
  const { force, only } = options;
  if (force === true && only !== undefined)
    throw new CliError(
      'Usage',
      `--force writes the image, and --only ${only} writes nothing; give one of them`,
    );
  return { kind: 'load', image, force, only, withinMs: withinMs(options) };
}

export function captureIntent(
  image: ImageRef,
  options: LimitOptions & { readonly prove: boolean },
): MachineRequestIntent {
  return { kind: 'capture', image, prove: options.prove, withinMs: withinMs(options) };
}

function withinMs({ within }: LimitOptions): number | undefined {
  const ms = within === undefined ? undefined : parseDuration(within);
  if (within !== undefined && (ms === undefined || ms < 1_000))
    throw new CliError(
      'Usage',
      `--within ${within} is not a valid duration; use one from 1 s to 30 days, such as 45m`,
    );
  return ms;
}

/** Quarantines a machine, or ends that. */
export function quarantineIntent({
  comment,
  end,
}: {
  readonly comment?: string;
  readonly end?: true;
}): MachineRequestIntent {
  if (end === true && comment === undefined) return { kind: 'end quarantine' };
  if (end === undefined && comment !== undefined && comment.trim() !== '')
    return { kind: 'quarantine', comment };
  throw new CliError('Usage', 'give the reason with --comment, or --end', {
    next: 'heddle machine quarantine --help',
  });
}

/**
 * @throws CliError Usage for a word that is neither KEY=VALUE nor KEY-, and for a key that is given twice.
 */
export function labelIntent(words: readonly string[]): MachineRequestIntent {
  const labels: [string, string][] = [];
  const remove: string[] = [];
  for (const word of words) {
    const label = parseLabel(word);
    const removed = word.endsWith('-') && isLabelKey(word.slice(0, -1)) ? word.slice(0, -1) : undefined;
    if (label !== undefined) labels.push([...label]);
    else if (removed !== undefined) remove.push(removed);
    else throw new CliError('Usage', `"${word}" is neither KEY=VALUE nor KEY-. A label is ${labelRule}`);
  }
  const keys = [...labels.map(([key]) => key), ...remove];
  const twice = keys.find((key, index) => keys.indexOf(key) < index);
  if (twice !== undefined) throw new CliError('Usage', `label ${twice} is given twice. Give it once.`);
  return { kind: 'label', labels: Object.fromEntries(labels) satisfies Labels, remove };
}
