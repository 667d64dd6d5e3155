// @ts-check
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isMain, runMain, say } from './environment.mjs';

/** @typedef {{ readonly text: string, readonly classes: string }} Span */
/** @typedef {{ readonly lines: readonly (readonly Span[])[], readonly ms: number }} Frame */

const [columns, rows] = [90, 24];
const everyMs = 120;
/** How much faster than in the terminal commands are shown. */
const speed = 1.5;
/** What a command waits for is shown no longer than this. */
const longestFrameMs = 900;
const readMs = 2_600;
const keyMs = 45;
/** In px. */
const [charWidth, lineHeight, margin, head] = [8.4, 18, 16, 34];

/**
 * Types commands into a real terminal and draws what it shows as an animated picture without scripts or fonts
 * of its own.
 * @param {readonly string[]} commands
 * @returns {Promise<string>} SVG
 */
export async function recordTerminal(commands) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-record-'));
  const tmux = (/** @type {string[]} */ ...words) =>
    execFileSync('tmux', ['-S', join(folder, 'socket'), ...words], { encoding: 'utf8' });
  const size = ['-x', String(columns), '-y', String(rows)];
  /** @type {Frame[]} */
  const frames = [];
  let last = '';
  const look = (/** @type {number} */ ms) => {
    const screen = tmux('capture-pane', '-p', '-e', '-t', 'main');
    const previous = frames.at(-1);
    if (screen === last && previous !== undefined) {
      const shown = Math.min(previous.ms + ms, Math.max(previous.ms, longestFrameMs));
      frames[frames.length - 1] = { ...previous, ms: shown };
      return;
    }
    last = screen;
    frames.push({ lines: linesOf(screen), ms });
  };
  try {
    const shell = `env PS1='$ ' PROMPT_COMMAND= bash --norc --noprofile`;
    tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'main', ...size, shell);
    tmux('set', '-g', 'status', 'off');
    await pause(500);
    for (const command of commands) {
      for (const key of command) {
        tmux('send-keys', '-t', 'main', '-l', key);
        await pause(keyMs);
        look(keyMs);
      }
      tmux('send-keys', '-t', 'main', 'Enter');
      do {
        await pause(everyMs);
        look(everyMs / speed);
      } while (!/(^|\n)\$ *\n*$/.test(tmux('capture-pane', '-p', '-t', 'main')));
      const end = frames.at(-1);
      if (end !== undefined) frames[frames.length - 1] = { ...end, ms: readMs };
    }
    return drawFrames(frames);
  } finally {
    tmux('kill-server');
    rmSync(folder, { recursive: true });
  }
}

const escape = String.fromCharCode(27);
const styling = new RegExp(`(${escape}\\[[\\d;]*m)`);
const colours = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/**
 * @param {string} screen with SGR sequences, which hold beyond the end of a line
 * @returns {readonly (readonly Span[])[]}
 */
function linesOf(screen) {
  /** @type {Set<string>} */
  const classes = new Set();
  return screen
    .split('\n')
    .slice(0, rows)
    .map((line) => spansOf(line, classes));
}

/**
 * @param {string} line
 * @param {Set<string>} classes at its beginning; changed to those at its end
 * @returns {readonly Span[]}
 */
function spansOf(line, classes) {
  /** @type {Span[]} */
  const spans = [];
  for (const part of line.split(styling)) {
    if (!part.startsWith(escape)) {
      if (part !== '') spans.push({ text: part, classes: [...classes].join(' ') });
      continue;
    }
    for (const code of (part.slice(2, -1) || '0').split(';').map(Number)) {
      if (code === 0) classes.clear();
      else if (code === 1) classes.add('bold');
      else if (code === 2) classes.add('dim');
      else if (code === 39 || (code >= 30 && code <= 37)) {
        for (const colour of colours) classes.delete(colour);
        if (code !== 39) classes.add(colours[code - 30] ?? '');
      }
    }
  }
  return spans;
}

/** @param {readonly Frame[]} frames */
function drawFrames(frames) {
  const total = frames.reduce((sum, { ms }) => sum + ms, 0);
  /** Each different line is drawn once. */
  const drawn = new Map();
  const idOf = (/** @type {string} */ line) => {
    const id = drawn.get(line) ?? `l${drawn.size}`;
    drawn.set(line, id);
    return id;
  };
  let at = 0;
  const shown = frames.map(({ lines, ms }, index) => {
    const begin = at / total;
    at += ms;
    const uses = lines.flatMap((spans, row) => {
      const text = lineText(spans);
      return text === '' ? [] : [`<use href="#${idOf(text)}" y="${row * lineHeight}"/>`];
    });
    const times = [begin, at / total].map((part) => `${(part * 100).toFixed(3)}%`);
    return {
      style: `@keyframes f${index}{0%{opacity:0}${times[0]}{opacity:1}${times[1]}{opacity:0}}`,
      group: `<g class="f" style="animation-name:f${index}">${uses.join('')}</g>`,
    };
  });
  const width = Math.ceil(columns * charWidth + 2 * margin);
  const height = rows * lineHeight + head + margin;
  const lines = [...drawn].map(([text, id]) => `<text id="${id}" x="0" y="14">${text}</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="Heddle in a terminal">`,
    '<style>',
    'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6deeb;white-space:pre}',
    '.bold{font-weight:700}.dim{opacity:.6}.red{fill:#ff7b85}.green{fill:#7fd88f}.yellow{fill:#f1c66b}.blue{fill:#7aa9ff}.magenta{fill:#c79bf2}.cyan{fill:#6fd6d6}',
    `.f{opacity:0;animation-duration:${(total / 1_000).toFixed(2)}s;animation-timing-function:step-end;animation-iteration-count:infinite}`,
    '@media (prefers-reduced-motion){.f{animation:none}.f:last-child{opacity:1}}',
    ...shown.map(({ style }) => style),
    '</style>',
    `<rect width="${width}" height="${height}" rx="8" fill="#11161d"/>`,
    ...['#ff5f57', '#febc2e', '#28c840'].map(
      (fill, index) => `<circle cx="${20 + index * 20}" cy="17" r="6" fill="${fill}"/>`,
    ),
    `<defs>${lines.join('')}</defs>`,
    `<g transform="translate(${margin} ${head})">${shown.map(({ group }) => group).join('')}</g>`,
    '</svg>\n',
  ].join('\n');
}

/** @param {readonly Span[]} spans */
function lineText(spans) {
  const parts = spans.map(({ text, classes }) => {
    const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    return classes === '' ? escaped : `<tspan class="${classes}">${escaped}</tspan>`;
  });
  return parts.join('').trimEnd();
}

if (isMain(import.meta.url))
  await runMain(async () => {
    const [file, ...commands] = process.argv.slice(2);
    if (file === undefined || commands.length === 0)
      throw new Error('usage: node tools/record-terminal.mjs FILE.svg COMMAND…');
    writeFileSync(file, await recordTerminal(commands));
    say(file);
  });
