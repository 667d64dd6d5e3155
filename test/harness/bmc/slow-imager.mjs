// @ts-check
// An imager that takes its time and repeats nothing: slow-imager.mjs FOLDER LOG WHAT MACHINE IMAGE TOKEN
// Its lines stand in the log of the controllers, so that their order shows what ran at the same time. A load
// ends with a new disk, which the program for the machine service writes.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execPath } from 'node:process';
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
  else {
    const program = join(import.meta.dirname, 'imager.mjs');
    const words = [program, join(dirname(log), 'imager.json'), 'load', machine, 'host', token];
    if (spawnSync(execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) return 2;
  }
  note('ends');
  return 0;
}

process.exitCode = await carryOut();
