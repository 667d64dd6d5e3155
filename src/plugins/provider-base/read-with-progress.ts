import { createReadStream } from 'node:fs';

const stepBytes = 8 * 2 ** 20;

/**
 * Reads a file for an upload and reports progress every few megabytes, and at its end the next step of the
 * cloud.
 */
export async function* readWithProgress(
  file: string,
  progress: (text: string) => void,
  afterwards: string,
): AsyncGenerator<Buffer> {
  yield* withProgress(createReadStream(file) as AsyncIterable<Buffer>, 'sent', progress);
  progress(afterwards);
}

/** Passes all chunks on, and reports progress every few megabytes. */
export async function* withProgress(
  source: AsyncIterable<Buffer>,
  verb: string,
  progress: (text: string) => void,
): AsyncGenerator<Buffer> {
  let passed = 0;
  for await (const chunk of source) {
    const before = Math.floor(passed / stepBytes);
    passed += chunk.length;
    if (Math.floor(passed / stepBytes) > before) progress(`${Math.round(passed / 2 ** 20)} MB ${verb}`);
    yield chunk;
  }
}
