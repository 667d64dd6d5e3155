// What redaction costs, for secrets and texts that are usual and for those that make a search slow.
// Usage: npm run build && node bench/redact.mjs [MODULE...]; without a module dist/secrets/redact.js is
// measured.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const length = 200_000;
const key = Array.from({ length: 50 }, (_, index) =>
  Buffer.from(`line ${index} of a private key, with some more text`).toString('base64'),
).join('\n');
/** @type {Record<string, [secrets: string[], part: string]>} */
const cases = {
  'usual log, 3 passwords': [
    ['correct-horse', 'battery-staple', 'hunter2hunter2'],
    'INFO the service has started and serves on port 8080\n',
  ],
  'usual log, a private key': [[key], 'INFO the service has started and serves on port 8080\n'],
  'one letter many times': [['a'.repeat(10_000)], 'a'],
  'almost a secret, again and again': [[`${'a'.repeat(5_000)}b`], `${'a'.repeat(4_999)}c`],
  'many secrets with one beginning': [
    Array.from({ length: 300 }, (_, index) => `${'same-beginning-'.repeat(10)}${index}`),
    'same-beginning-',
  ],
};

const files = process.argv.slice(2);
for (const file of files.length === 0 ? ['dist/secrets/redact.js'] : files) {
  /** @type {typeof import('../dist/secrets/redact.js')} */
  const { createRedactor } = await import(pathToFileURL(resolve(file)).href);
  for (const [name, [secrets, part]] of Object.entries(cases)) {
    const text = part.repeat(Math.ceil(length / part.length)).slice(0, length);
    const made = timeOf(() => createRedactor(secrets));
    const whole = timeOf(() => made.result.redact(text));
    const pieces = timeOf(() => {
      const stream = made.result.stream();
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 16) stream.push(bytes.subarray(at, at + 16));
      stream.end();
    });
    console.log(
      `${file}  ${name}: make ${made.ms} ms, ${length / 1_000} KB at once ${whole.ms} ms, in pieces of 16 bytes ${pieces.ms} ms`,
    );
  }
}

/**
 * @template Result
 * @param {() => Result} work
 */
function timeOf(work) {
  const began = performance.now();
  const result = work();
  return { result, ms: Math.round((performance.now() - began) * 10) / 10 };
}
