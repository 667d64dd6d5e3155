import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { drained, writeDraining } from '../../src/cli/drained.js';

/** A standard stream whose reader is slow: it takes a chunk with each call of `read`. */
function slowStream(): {
  readonly stream: NodeJS.WriteStream;
  readonly read: () => void;
  readonly taken: string[];
} {
  const taken: string[] = [];
  const waiting: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 1,
    write: (chunk, _encoding, done) => {
      waiting.push(() => {
        taken.push(String(chunk));
        done();
      });
    },
  });
  return { stream: stream as NodeJS.WriteStream, read: () => waiting.shift()?.(), taken };
}

it('waits for a slow reader share one listener, also after one of them was given up', async () => {
  const { stream, read } = slowStream();
  stream.write('first');
  for (let round = 0; round < 5; round += 1) {
    const one = new AbortController();
    const wait = drained(stream, one.signal);
    one.abort();
    await wait;
  }
  const waits = Array.from({ length: 5 }, () => drained(stream, new AbortController().signal));
  expect(stream.listenerCount('drain')).toBe(1);
  read();
  await Promise.all(waits);
  expect(stream.listenerCount('drain')).toBe(0);
  stream.write('second');
  const again = drained(stream, new AbortController().signal);
  expect(stream.listenerCount('drain')).toBe(1);
  read();
  await again;
});

it('after an interrupt, output is dropped while the reader has no room, and shown once it has', async () => {
  const { stream, read, taken } = slowStream();
  const interrupt = new AbortController();
  const first = writeDraining(stream, 'first', interrupt.signal);
  interrupt.abort();
  await first;
  for (let chunk = 0; chunk < 100; chunk += 1) await writeDraining(stream, 'more', interrupt.signal);
  expect(stream.writableLength).toBe('first'.length);
  read();
  await writeDraining(stream, 'last', interrupt.signal);
  read();
  expect(taken).toEqual(['first', 'last']);
});
