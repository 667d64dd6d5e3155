import { createHash } from 'node:crypto';

/** The most that Nova takes for a tag, in characters. */
const longest = 60;

/**
 * A tag of Nova is one word without slashes and commas. Longer values are hashed in the tag and complete in
 * the machine's metadata, which cannot be searched.
 */
export function novaTags(tags: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(tags).map(([name, value]) => {
    const plain = `${name}=${value}`;
    return plain.length <= longest && !/[/,]/.test(plain)
      ? plain
      : `${name}=${createHash('sha256')
          .update(value)
          .digest('hex')
          .slice(0, longest - name.length - 1)}`;
  });
}
