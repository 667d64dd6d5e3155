// Nodepool and Heddle beside each other: the same requests, one after the other on the same machine.
// Usage: npm run build && sh bench/nodepool/setup.sh FOLDER && node bench/nodepool/compare.mjs FOLDER [ROW
// ...] rows: fresh, ready, burst:100, burst:1000, burst:2000, queue, kill, evict, idle
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { playPart } from './run.mjs';

const seconds = (value) => `${value.toFixed(2)} s`;
const rate = (value) => `${value.toFixed(1)}/s`;
const count = (value) => String(value);
const percent = (value) => `${value.toFixed(2)} %`;
const burst = (size) => ({
  nodepool: [`burst:${size}`],
  heddle: `burst:${size}`,
  lines: [
    [`burst ${size}`, `${size} requests at once`, rate, 'more'],
    [`gone ${size}`, 'the same, until the last machine is gone', rate, 'more'],
  ],
});
/** What each side plays, and the figures of it; whether more of it is better, or less. */
const rows = {
  fresh: {
    nodepool: ['single'],
    heddle: 'single',
    lines: [['fresh', 'one fresh node, p50', seconds, 'less']],
  },
  ready: { nodepool: ['warm'], heddle: 'single', lines: [['ready', 'one ready node, p50', seconds, 'less']] },
  'burst:100': burst(100),
  'burst:1000': burst(1_000),
  'burst:2000': burst(2_000),
  queue: {
    nodepool: ['queue'],
    heddle: 'queue',
    lines: [['queue', '100 requests on a pool of 10', rate, 'more']],
  },
  kill: {
    nodepool: ['kill'],
    heddle: 'kill',
    lines: [
      ['killed', 'kill -9 with 50 building: until all are fulfilled', seconds, 'less'],
      ['thrown away', 'the same: machines thrown away', count, 'less'],
    ],
  },
  evict: {
    nodepool: ['evict'],
    heddle: 'evict',
    lines: [['evicted', 'idle nodes deleted for one request', count, 'less']],
  },
  idle: {
    nodepool: ['idle'],
    heddle: 'idle',
    lines: [
      ['made ready', '1,000 nodes made ready', seconds, 'less'],
      ['at rest', '1,000 ready nodes at rest, of one core', percent, 'less'],
    ],
  },
};

const [, , folder, ...asked] = process.argv;
const chosen = asked.length > 0 ? asked : Object.keys(rows);
const unknown = chosen.filter((name) => rows[name] === undefined);
if (folder === undefined || unknown.length > 0)
  throw new Error(
    `usage: node bench/nodepool/compare.mjs FOLDER [ROW ...]; ${unknown.length > 0 ? `no row ${unknown.join(', ')}; ` : ''}rows: ${Object.keys(rows).join(', ')}`,
  );

const theirs = {};
const ours = {};
for (const part of new Set(chosen.flatMap((name) => rows[name].nodepool))) {
  console.error(`Nodepool: ${part}`);
  await playPart(resolve(folder), part, note(theirs));
}
for (const part of new Set(chosen.map((name) => rows[name].heddle))) {
  console.error(`Heddle: ${part}`);
  await playOurs(part, note(ours));
}
console.log('| what | Heddle | load | Nodepool | load | ratio |\n|---|---|---|---|---|---|');
for (const [what, title, text, better] of chosen.flatMap((name) => rows[name].lines)) {
  const [mine, other] = [ours[what], theirs[what]];
  console.log(
    `| ${[title, cell(mine, text), loadOf(mine), `${cell(other, text)}${shortOf(what, other)}`, loadOf(other), ratio(mine, other, better)].join(' | ')} |`,
  );
}

function note(figures) {
  return (figure) => {
    figures[figure.what] = figure;
  };
}

async function playOurs(part, tell) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../pools.mjs', import.meta.url)), '--json', part],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exit = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) tell(JSON.parse(line));
  const [code] = await exit;
  if (code !== 0) throw new Error(`${part}: bench/pools.mjs ended with ${code}`);
}

function cell(figure, text) {
  return figure === undefined ? '-' : text(figure.value);
}

function loadOf(figure) {
  return figure?.load === undefined ? '-' : figure.load.toFixed(0);
}

/** It is given up after some minutes. */
function shortOf(what, figure) {
  return what === 'queue' && figure?.done < 100 ? `, ${figure.done} of 100 when it was given up` : '';
}

/** How much better Heddle is. */
function ratio(mine, other, better) {
  if (mine === undefined || other === undefined) return '-';
  const times = better === 'more' ? mine.value / other.value : other.value / mine.value;
  return Number.isFinite(times) ? `${times.toFixed(times < 10 ? 1 : 0)}` : '-';
}
