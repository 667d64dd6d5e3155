/** Ends or removes something. */
export type Clean = () => void | Promise<void>;

const leftovers: Clean[] = [];

/** Has it done after the tests of the file that runs now, before what came earlier. */
export function cleanAfterFile(clean: Clean): void {
  leftovers.push(clean);
}

/** All are done, also if some fail. */
export async function cleanUp(): Promise<void> {
  const errors: unknown[] = [];
  for (const clean of leftovers.splice(0).toReversed()) {
    try {
      await clean();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} leftovers of the tests remain`);
}
