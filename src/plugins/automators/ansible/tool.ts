import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import { childEnvironment } from '../../../config/child-environment.js';
import { signalQuietly } from '../../../config/process-table.js';

export interface Tool {
  readonly program: string;
  readonly words: readonly string[];
  /** Its working folder and home; removed, with all connections from it closed, when the worker is killed. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Gets each line that it writes to file descriptor 3. */
  readonly onEvent: (line: string) => void;
  /** Ends it with all its children. */
  readonly signal: AbortSignal;
}

export interface ToolEnd {
  readonly exitCode: number;
  /** The end of its output. */
  readonly said: string;
}

const maxSaid = 16 * 1024;
const termMs = 2_000;

/** Runs a program in its own process group; its environment has PATH, LANG and the given variables. */
export async function runTool({
  program,
  words,
  folder,
  environment,
  onEvent,
  signal,
}: Tool): Promise<ToolEnd> {
  signal.throwIfAborted();
  const variables = Object.entries({ HOME: folder, ...environment }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const child = spawn('/bin/sh', ['-c', guard, 'heddle-ansible', folder, ...variables, program, ...words], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    env: childEnvironment(),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      said = (said + chunk).slice(-maxSaid);
    });
  child.stdin.on('error', () => undefined);
  const events = createInterface({ input: child.stdio[3] as Readable }).on('line', onEvent);
  const read = once(events, 'close');
  const stop = (): void => {
    const { pid } = child;
    if (pid === undefined) return;
    signalQuietly(-pid, 'SIGTERM');
    setTimeout(() => signalQuietly(-pid, 'SIGKILL'), termMs).unref();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    await read;
    return { exitCode: code ?? 255, said };
  } finally {
    signal.removeEventListener('abort', stop);
    child.stdin.destroy();
  }
}

/**
 * Standard input stays open while the worker lives: at its end the group is killed, and the folder with its
 * keys is removed. Connections that outlive the program are closed after it.
 */
const guard = `
folder=$1; shift
close() { for socket in "$folder"/c-*; do [ -S "$socket" ] && ssh -F /dev/null -O exit -o ControlPath="$socket" node 2> /dev/null; done; true; }
exec 4<&0
( exec 3>&- > /dev/null 2>&1; trap '' TERM; while read -r line; do :; done; kill -KILL $$; kill -TERM 0; sleep 1; close; rm -rf -- "$folder"; kill -KILL 0 ) <&4 &
watch=$!
exec 4<&-
trap 'close' TERM
env -i PATH="$PATH" LANG="\${LANG:-C.UTF-8}" "$@" < /dev/null &
child=$!
wait $child; code=$?
wait $child 2> /dev/null
close
kill -KILL $watch
exit $code
`;
