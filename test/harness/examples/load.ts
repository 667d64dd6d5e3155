import { get } from 'node:http';

/** Requests at a constant rate, as users of a service with several addresses send them. */
export interface Load {
  /** Stops, waits for requests under way, and returns what came of them. */
  end(): Promise<LoadResult>;
}

export interface LoadResult {
  readonly answered: number;
  /** Each failed request in words. */
  readonly failures: readonly string[];
}

const perSecond = 50;
const patienceMs = 15_000;

/** Starts to send 50 requests per second to the addresses in turn. */
export function startLoad(addresses: readonly string[]): Load {
  const failures: string[] = [];
  const underWay = new Set<Promise<void>>();
  let answered = 0;
  let sent = 0;
  const send = async (turn: number): Promise<void> => {
    const order = [
      ...addresses.slice(turn % addresses.length),
      ...addresses.slice(0, turn % addresses.length),
    ];
    try {
      await askFirst(order);
      answered += 1;
    } catch (error) {
      failures.push(`request ${turn} at ${new Date().toISOString()}: ${String(error)}`);
    }
  };
  const timer = setInterval(() => {
    const request = send((sent += 1));
    underWay.add(request);
    void request.finally(() => underWay.delete(request));
  }, 1_000 / perSecond);
  return {
    async end() {
      clearInterval(timer);
      await Promise.all(underWay);
      return { answered, failures };
    },
  };
}

/**
 * A client of a name with several addresses: one that takes no connection is passed over. A
 * server that closes its port resets connections that it had not accepted yet; they count the
 * same, as nothing read the request.
 */
async function askFirst([address, ...others]: readonly string[]): Promise<void> {
  if (address === undefined) throw new Error('no address takes a connection');
  try {
    await ask(address);
  } catch (error) {
    if (!(error instanceof NotTaken)) throw error;
    await askFirst(others);
  }
}

/** The connection was refused, or reset before any part of an answer. */
class NotTaken extends Error {}

const notTaken: readonly unknown[] = ['ECONNREFUSED', 'ECONNRESET'];

function ask(address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let answers = false;
    const request = get(address, { agent: false, timeout: patienceMs }, (response) => {
      answers = true;
      response.resume();
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200
          ? resolve()
          : reject(new Error(`${address} answered ${response.statusCode}`)),
      );
    });
    request.on('timeout', () => request.destroy(new Error(`${address} did not answer in time`)));
    request.on('error', (error) => {
      const { code } = error as { readonly code?: unknown };
      reject(!answers && notTaken.includes(code) ? new NotTaken(error.message) : error);
    });
  });
}
