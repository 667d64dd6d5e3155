import { spawn, type ChildProcess } from 'node:child_process';
import { childEnvironment } from '../config/child-environment.js';
import { hasProcFs, markerVariable } from './processes.js';

// Reads until the service's end of the pipe is gone, then kills what carries the marker. Only the service's
// death closes the pipe.
const script = `
while read -r _; do :; done
for round in 1 2 3; do
  for folder in /proc/[0-9]*; do
    if tr '\\0' '\\n' 2>/dev/null <"$folder/environ" | grep -q "^$1"; then kill -9 "\${folder#/proc/}" 2>/dev/null; fi
  done
done 2>/dev/null`;

/**
 * Kills the machines when the service dies, even by SIGKILL, from a shell in a session of its own. Without
 * /proc, the next start kills them.
 */
export function startGuard(markerStart: string): ChildProcess | undefined {
  if (!hasProcFs) return undefined;
  const guard = spawn('/bin/sh', ['-c', script, 'heddle-guard', `${markerVariable}=${markerStart}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: childEnvironment({ set: { PATH: '/usr/local/bin:/usr/bin:/bin' } }),
    cwd: '/',
  });
  guard.on('error', () => undefined);
  guard.stdin?.on('error', () => undefined);
  guard.unref();
  return guard;
}
