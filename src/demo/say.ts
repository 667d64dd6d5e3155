import { styleText } from 'node:util';

const startedAt = Date.now();

/** One line of the demo's story, with the seconds since it began. */
export function say(text: string): void {
  process.stdout.write(
    `${styleText('dim', `${((Date.now() - startedAt) / 1000).toFixed(1).padStart(5)} s`)}  ${text}\n`,
  );
}

/** A heading of the story. */
export function narrate(text: string): void {
  process.stdout.write(`\n${styleText('bold', text)}\n`);
}

/** A count with its source, and whether it is as expected. */
export function check(ok: boolean, text: string): boolean {
  const mark = ok ? styleText('green', 'ok   ') : styleText('red', 'WRONG');
  process.stdout.write(`         ${mark}  ${text}\n`);
  return ok;
}
