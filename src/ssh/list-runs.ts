import type { Connection } from './connection.js';
import { connectionLost } from './failure.js';
import { listRunsProgram } from './remote/small.js';
import { startProgram } from './session.js';

/** One run according to its folder on the node. */
export interface RunRecord {
  readonly runId: string;
  /** How many times its script was started: 1, or 0 when it never was. */
  readonly starts: number;
  /** Absent while it runs, or when its supervisor was killed. */
  readonly exitCode?: number;
  /** How it ended: exit, timeout, cancel, full. */
  readonly reason?: string;
}

/**
 * The runs whose folders are on the node, of the login user, or of root with `sudo`.
 * @throws PluginError Retryable when the connection was lost.
 */
export async function listRuns(
  connection: Connection,
  options: { readonly sudo?: boolean; readonly runsFolder?: string } = {},
): Promise<readonly RunRecord[]> {
  const session = await startProgram(connection, {
    program: listRunsProgram,
    variables: { runs: options.runsFolder ?? '', run: '' },
    sudo: options.sudo,
  });
  const records: RunRecord[] = [];
  let row: readonly string[] = [];
  try {
    for await (const frame of session.frames) {
      if (frame.kind !== 'line') continue;
      const [kind, ...words] = frame.words;
      if (kind === 'end') return records;
      if (kind === 'run') row = words;
      if (kind !== 'id') continue;
      const [starts = '0', code = '-', reason = '-'] = row;
      records.push({
        runId: words.join(' '),
        starts: Number(starts),
        ...(code === '-' ? {} : { exitCode: Number(code), reason }),
      });
    }
  } finally {
    session.close();
  }
  throw connectionLost(connection.target);
}
