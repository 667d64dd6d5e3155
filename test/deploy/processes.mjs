// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {{ cwd: string, environment?: Readonly<Record<string, string>>, limitMs?: number }} RunOptions */
/**
 * @typedef {object} Running
 * @property {string} name
 * @property {number} pid
 * @property {(signal: NodeJS.Signals) => Promise<void>} kill resolves when it is gone
 * @property {() => boolean} ended
 * @property {() => string} tail of its log
 */

/** What was started and has not ended, the last started first. @type {Running[]} */
const running = [];

/**
 * Starts a long-lived program; its output goes to a file.
 * @param {string} name
 * @param {readonly string[]} words
 * @param {RunOptions & { logFile: string }} options
 * @returns {Running}
 */
export function start(name, words, { cwd, environment = {}, logFile }) {
  const log = openSync(logFile, 'a', 0o600);
  // A session of its own: Ctrl-C reaches this script alone, which stops all in order.
  const child = spawn('/usr/bin/env', [...assignments(environment), ...words], {
    cwd,
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const exit = once(child, 'exit').catch(() => undefined);
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  const one = {
    name,
    pid: child.pid ?? 0,
    ended,
    tail: () => readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n'),
    kill: async (/** @type {NodeJS.Signals} */ signal) => {
      if (!ended()) child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), 45_000);
      await exit;
      clearTimeout(late);
      running.splice(0, running.length, ...running.filter((other) => other !== one));
    },
  };
  running.unshift(one);
  return one;
}

/**
 * Runs a program to its end and gives what it wrote.
 * @param {readonly string[]} words
 * @param {RunOptions} options
 */
export async function run(words, { cwd, environment = {}, limitMs = 600_000 }) {
  const child = spawn('/usr/bin/env', [...assignments(environment), ...words], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk) => (output += chunk));
  const [code, signal] = await once(child, 'close');
  if (code === 0) return output;
  throw new Error(
    `${words.join(' ')} ended with ${signal ?? code}:\n${output.trimEnd().split('\n').slice(-20).join('\n')}`,
  );
}

/**
 * Tries until it works.
 * @template Result
 * @param {string} what
 * @param {() => Promise<Result>} attempt
 * @param {() => void} [check] throws when more tries are no use
 */
export async function waitFor(what, attempt, check = () => undefined) {
  let last;
  for (const limit = Date.now() + 300_000; Date.now() < limit; await sleep(500)) {
    check();
    try {
      return await attempt();
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`${what} took longer than 300 s`, { cause: last });
}

/** The last words of what was started and ended by itself. */
export function lastWords() {
  return running
    .filter((one) => one.ended())
    .map((one) => `${one.name} ended by itself:\n${one.tail()}`)
    .join('\n');
}

/** Ends what was started, the last first. */
export async function stopAll() {
  for (const one of [...running]) await one.kill('SIGTERM');
}

/** @param {Readonly<Record<string, string>>} environment */
function assignments(environment) {
  return Object.entries(environment).map(([name, value]) => `${name}=${value}`);
}
