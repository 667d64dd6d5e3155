import { tagNames } from '../../model/names.js';
import type { Machine } from '../contract.js';

/** A port, address or volume of a machine, found by the tags that it was made with. */
export interface Part {
  /** Its kind in the sweep's reports. */
  readonly providerid: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt?: string;
}

/**
 * Machines of which only parts exist, one for each key, after an interrupted CREATE or DELETE. Parts must be
 * read before machines; otherwise a machine created in between is missing.
 */
export function halfMade(parts: readonly Part[], machines: readonly Machine[]): readonly Machine[] {
  const known = new Set(machines.map(({ key }) => key));
  const found = new Map<string, Machine>();
  for (const part of parts) {
    const key = part.tags[tagNames.key];
    if (key === undefined || known.has(key) || found.has(key)) continue;
    found.set(key, { ...part, key, state: 'failed' });
  }
  return [...found.values()];
}

/** The tags that the sweep needs to find a part's owner, most important first. */
const describedTags = [tagNames.installation, tagNames.key, tagNames.cluster] as const;

/**
 * Tags as text, for APIs whose creating call accepts no tags. A cluster name that is too long is omitted: the
 * key also identifies the owner.
 */
export function describeTags(tags: Readonly<Record<string, string>>, length: number): string {
  let described = '';
  for (const name of describedTags) {
    const value = tags[name];
    const more = value === undefined ? described : `${described} ${name}=${value}`.trim();
    if (more.length <= length) described = more;
  }
  return described;
}

/** The tags in a text of `describeTags`; none in any other text. */
export function readDescribedTags(description: string): Readonly<Record<string, string>> {
  const words = description.split(' ').map((word) => word.split('=', 2));
  return Object.fromEntries(
    words.filter(
      (word): word is [string, string] =>
        word[1] !== undefined && describedTags.some((name) => name === word[0]),
    ),
  );
}
