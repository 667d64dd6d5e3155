/** Ends or removes something. */
export type Clean = () => void | Promise<void>;

const leftovers: Clean[] = [];

/** Has it done after the tests of the file that runs now, before what came earlier. */
export function cleanAfterFile(clean: Clean): void {
  leftovers.push(clean);
}

export async function cleanUp(): Promise<void> {
  for (const clean of leftovers.splice(0).toReversed()) await clean();
}
