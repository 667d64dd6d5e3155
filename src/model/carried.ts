/**
 * What a run hands to the next, in bytes of JSON. The server takes 2 MiB (2,097,152 bytes), and
 * above that the SDK fails the workflow task over and over. A run with more continues instead;
 * the rest is for what the message and its encryption add.
 */
export const mostSent = 2_050_000;
/** What messages may let a state grow to, together with what results may add. */
export const mostCarried = 1_900_000;

/** What messages may let a state grow to, if results may still add much. */
const mostGrown = 1_500_000;

/**
 * Largest spec, normalised as JSON, in bytes. A cluster keeps up to four different ones: the
 * present one, the two to roll back to, and one that waits.
 */
export const maxSpecBytes = 200 * 1024;

/**
 * Largest plan of an apply without its spec, packed, in bytes. A group carries its part of it
 * beside its nodes. A delete may have a larger plan, or what exists could not be deleted.
 */
export const maxPlanBytes = 500_000;

/** Size of the placements of all labels of a pool, in bytes of JSON. */
export const maxPlacementBytes = 150_000;

/** The bytes of a value as JSON in UTF-8. */
export function jsonBytes(value: unknown): number {
  const text = value === undefined ? '' : JSON.stringify(value);
  let bytes = text.length;
  if (!/[^\0-\x7f]/.test(text)) return bytes;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) continue;
    // Half of a pair of surrogates, which has four bytes together, or a letter of two or three.
    const isHalf = code >= 0xd800 && code <= 0xdfff;
    bytes += isHalf || code < 0x800 ? 1 : 2;
  }
  return bytes;
}

/** A text whose JSON has at most so many bytes; what is cut off is shown by dots. */
export function cutText(text: string, most: number): string {
  if (jsonBytes(text) <= most) return text;
  let [kept, tooMany] = [0, Math.min(text.length, most)];
  while (tooMany - kept > 1) {
    const middle = Math.floor((kept + tooMany) / 2);
    if (jsonBytes(`${text.slice(0, middle)}...`) <= most) kept = middle;
    else tooMany = middle;
  }
  return `${text.slice(0, kept)}...`;
}

/** The first entries that fit, and at least one. */
export function firstWithin<Value>(list: readonly Value[], most: number): readonly Value[] {
  let bytes = 0;
  const end = list.findIndex((value) => (bytes += jsonBytes(value) + 1) > most);
  return end < 0 ? list : list.slice(0, Math.max(1, end));
}

/**
 * Why a state cannot take what a message adds; undefined if it can.
 * @param what It with its verb: `pool web keeps`.
 * @param remedy What a person can do.
 */
export function refuseGrowth(
  what: string,
  {
    state,
    added,
    most = mostGrown,
  }: { readonly state: unknown; readonly added: unknown; readonly most?: number },
  remedy: string,
): string | undefined {
  const bytes = jsonBytes(state) + jsonBytes(added);
  return bytes <= most
    ? undefined
    : `${what} would have ${bytes} bytes as JSON; the limit is ${most}; ${remedy}`;
}
