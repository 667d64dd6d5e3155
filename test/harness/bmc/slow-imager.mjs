// @ts-check
// An imager that takes its time and repeats nothing: slow-imager.mjs FOLDER LOG WHAT MACHINE IMAGE TOKEN
// Its lines stand in the log of the controllers, so that their order shows what ran at the same time.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const [folder = '', log = '', what = '', machine = '', image = '', token = ''] = process.argv.slice(2);
const imageFile = join(folder, image);
const parts = 12;

/** @param {string} text */
function note(text) {
  appendFileSync(log, `${machine} ${what} ${text}\n`);
}

async function carryOut() {
  if (what === 'exists') return existsSync(imageFile) ? 0 : 10;
  if (what === 'size') {
    process.stdout.write('1\n');
    return 0;
  }
  note('begins');
  const target = what === 'load' ? join(folder, `disk-of-${machine}`) : `${imageFile}.part`;
  writeFileSync(target, '');
  for (let part = 1; part <= parts || existsSync(join(folder, 'hold')); part += 1) {
    appendFileSync(target, `${token}\n`);
    process.stdout.write(`part ${part}\n`);
    await pause(100);
  }
  if (what === 'capture') writeFileSync(imageFile, image);
  note('ends');
  return 0;
}

process.exitCode = await carryOut();
