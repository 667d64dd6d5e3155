import { createReadStream } from 'node:fs';

const stepBytes = 8 * 2 ** 20;

/** Reads a file that is uploaded, and reports progress every few megabytes; at its end, what the cloud does then. */
export async function* readWithProgress(
  file: string,
  progress: (text: string) => void,
  afterwards: string,
): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    const before = Math.floor(sent / stepBytes);
    sent += chunk.length;
    if (Math.floor(sent / stepBytes) > before) progress(`${Math.round(sent / 2 ** 20)} MB sent`);
    yield chunk;
  }
  progress(afterwards);
}
