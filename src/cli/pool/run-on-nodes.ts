import { stat } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import type { PoolClient } from '../../client/pool/pool-client.js';
import type { GrantedNode, RequestView } from '../../schema/output/pool.js';
import { wordsForFileError } from '../../schema/read-text.js';
import { quoteWords } from '../../ssh/quote.js';
import { CliError } from '../errors.js';
import { findTarget } from '../login.js';
import type { Session } from '../session.js';
import { describeRun, type NodeRun, runOnNode } from '../run-on-node.js';

/** How a command ended on the nodes of a request. */
export interface RunInPool {
  readonly pool: string;
  readonly request: string;
  readonly results: readonly NodeRun[];
}

/** As with ssh: how the command ended is unknown. */
const sshFailed = 255;

export function highestCode(results: readonly NodeRun[]): number {
  return Math.max(...results.map(({ exitCode }) => exitCode ?? sshFailed));
}

/**
 * The shell text of a command: one word as it is, several as a program with its arguments.
 * @throws CliError Usage, also when the files to copy cannot be read.
 */
export async function readCommand(
  words: readonly string[],
  { copy }: { readonly copy?: string },
): Promise<string> {
  const command = words.length === 1 ? (words[0] ?? '') : quoteWords(words);
  if (command.trim() === '')
    throw new CliError('Usage', 'the command is empty', { next: 'heddle run --help' });
  if (copy === undefined) return command;
  const found = await stat(copy).catch((cause: unknown) => {
    throw new CliError('Usage', `--copy ${copy} cannot be read: ${wordsForFileError(cause)}`, { cause });
  });
  if (!found.isFile() && !found.isDirectory())
    throw new CliError('Usage', `--copy ${copy} is neither a file nor a folder`);
  return command;
}

/** Runs a command on all nodes of a fulfilled request at once, and says how it ended on each. */
export async function runOnNodes(
  { config, output }: Session,
  pool: PoolClient,
  { id, nodes = [], ...request }: RequestView,
  command: string,
  options: { readonly copy: string | undefined; readonly signal: AbortSignal },
): Promise<readonly NodeRun[]> {
  const { providerPools } = await pool.view();
  const accountOf = ({ providerPool = request.providerPool ?? '' }: GrantedNode): string =>
    providerPools[providerPool]?.provider ?? '';
  output.note(`request ${id}: runs on ${nodes.map((node) => node.id).join(', ')}; Ctrl-C ends it`);
  const results = await Promise.all(
    nodes.map(async (node) =>
      runOnNode(
        node.id,
        () => findTarget(config, { node: node.id, account: accountOf(node), payload: node.payload }),
        {
          ...options,
          command,
          // Nodes may be slots of one machine.
          folder: `heddle-run-${randomUUID()}`,
          output: output.json ? 'kept' : nodes.length > 1 ? 'prefixed' : 'plain',
        },
      ),
    ),
  );
  for (const result of results) output.note(describeRun(result));
  return results;
}
