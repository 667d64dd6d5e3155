// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs a program to its end and gives its stdout. Throws with what it wrote when it is missing, fails or
 * takes too long.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, limitMs: number }} options
 * @returns {Promise<string>}
 */
export async function runProgram(program, args, { cwd, env = process.env, limitMs }) {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    env: withoutCredentials(env),
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk) => (errors += chunk));
  try {
    const [code, signal] = await once(child, 'close');
    if (code === 0) return output;
    if (signal === 'SIGKILL') throw new Error(`${program} took longer than ${limitMs / 1000} s`);
    throw new Error(`${program} ended with ${signal ?? code}: ${endsOf(errors || output)}`);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new Error(`there is no ${program} on PATH`, { cause: error });
    throw error;
  }
}

/**
 * Package managers and compilers need neither the payload keys nor an account on a Temporal server.
 * @param {NodeJS.ProcessEnv} env
 */
function withoutCredentials(env) {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^(HEDDLE_KEYS|HEDDLE_CODEC_TOKEN|TEMPORAL_API_KEY|TEMPORAL_TLS_.*)$/.test(name),
    ),
  );
}

/** Some programs say what was wrong first and then a lot more. @param {string} text */
function endsOf(text) {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /[a-z]{3}/i.test(line));
  const shown = lines.length <= 8 ? lines : [...lines.slice(0, 4), '...', ...lines.slice(-4)];
  return shown.join(' | ') || 'it wrote nothing';
}
