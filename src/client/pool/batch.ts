/** Collects items while a message is under way, and sends them in the next one. */
export class Batch<Item, Answer> {
  readonly #send: (items: readonly Item[]) => Promise<readonly Answer[]>;
  readonly #most: number;
  #waiting: {
    readonly item: Item;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];
  #sending = false;

  /** `send` gives an answer for each item, in their order. */
  constructor(send: (items: readonly Item[]) => Promise<readonly Answer[]>, most: number) {
    this.#send = send;
    this.#most = most;
  }

  add(item: Item): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      // Items of the same turn of the event loop are sent together.
      queueMicrotask(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most);
      try {
        const answers = await this.#send(batch.map(({ item }) => item));
        for (const [index, { resolve, reject }] of batch.entries()) {
          const answer = answers[index];
          if (index in answers) resolve(answer as Answer);
          else reject(new Error('the pool returned no answer'));
        }
      } catch (error) {
        if (batch.length === 1) batch[0]?.reject(error);
        // One item is wrong: each is sent alone, so that only that one is refused.
        else
          await Promise.all(
            batch.map(async ({ item, resolve, reject }) =>
              this.#send([item]).then(([answer]) => resolve(answer as Answer), reject),
            ),
          );
      }
    }
    this.#sending = false;
  }
}
