import { runProgram } from '../config/run-program.js';

/** Older servers let anyone who reaches the port open a replication stream (CVE-2026-5724). */
const serverFloor = '1.30.4';

/** Compares dotted numbers and ignores suffixes (`-rc.1`, `+build`). Negative: `a` is older. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The problem with a server of this version; undefined if there is none. */
export function floorProblem(serverVersion: string): string | undefined {
  if (numbersOf(serverVersion).length === 0)
    return `its server version ${JSON.stringify(serverVersion)} cannot be compared with ${serverFloor}`;
  if (compareVersions(serverVersion, serverFloor) >= 0) return undefined;
  return `Temporal server ${serverVersion} is older than ${serverFloor} and open to CVE-2026-5724; upgrade it`;
}

/** Asks a Temporal CLI for its versions. @throws Error if it does not run or is another program. */
export async function readBinaryVersion(
  binary: string,
): Promise<{ readonly cli: string; readonly server: string }> {
  const { stdout, failure } = await runProgram(binary, ['--version'], { timeoutMs: 15_000 });
  if (failure !== undefined)
    throw new Error(`it does not run: ${firstLine(failure.cause)}`, { cause: failure.cause });
  const found = /temporal version (\S+) \(Server ([^,\s)]+)/.exec(stdout);
  if (!found?.[1] || !found[2])
    throw new Error(`it is not a Temporal CLI: --version printed ${JSON.stringify(stdout.slice(0, 120))}`);
  return { cli: found[1], server: found[2] };
}

function numbersOf(version: string): number[] {
  const dotted = /^v?(\d+(?:\.\d+)*)/.exec(version)?.[1];
  return dotted === undefined ? [] : dotted.split('.').map(Number);
}

function firstLine(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.split('\n').find((line) => line.trim() !== '') ?? 'no reason given';
}
