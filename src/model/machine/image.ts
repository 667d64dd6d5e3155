/** An image and which of its revisions: two revisions of one name are two images. */
export interface ImageRef {
  readonly name: string;
  readonly revision: string;
}

const part = '[A-Za-z0-9][A-Za-z0-9._-]{0,62}';
const pattern = new RegExp(`^(${part})(?:@(${part}))?$`);

/** Reads `web@3`, or `web` for revision 1; undefined if malformed. */
export function parseImageRef(text: string): ImageRef | undefined {
  const [, name, revision = '1'] = pattern.exec(text) ?? [];
  return name === undefined ? undefined : { name, revision };
}

export function formatImageRef({ name, revision }: ImageRef): string {
  return `${name}@${revision}`;
}

export function isSameImage(one: ImageRef, other: ImageRef | undefined): boolean {
  return one.name === other?.name && one.revision === other.revision;
}
