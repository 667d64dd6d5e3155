interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Passes items to `send` several at a time, one call after the other: what arrives during a call waits for
 * the next. All items of a call that fails get its error.
 * @param send answers with one result for each item, in their order
 */
export function inBatches<Item, Result>(
  maxItems: number,
  send: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isSending = false;

  async function sendAll(): Promise<void> {
    isSending = true;
    // Calls of the same turn of the event loop go together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems);
      try {
        const results = await send(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isSending = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!isSending) void sendAll();
    });
}
