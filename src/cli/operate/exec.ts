import type { WaitResult } from '../../client/wait.js';
import type { ExecIntent } from '../../model/plan/intent.js';
import { parseDuration } from '../../schema/duration.js';
import { quoteWords } from '../../ssh/quote.js';
import { CliError } from '../cli-error.js';
import { readResults, type ExecResult } from './exec-results.js';
import { describeResults, printResults, succeeded } from './exec-text.js';
import { exitCodes } from '../exit-codes.js';
import { leaveIt } from './finish.js';
import { followOperation } from './follow-operation.js';
import { checkFirst, requireCluster, scopeOf } from './operate.js';
import type { OperationOptions } from '../configuration.js';
import type { Output } from '../output.js';
import { previewOperation, showPreview } from '../plan/preview.js';
import { reportEnd } from './report-operation.js';
import { withSession } from '../session.js';

export type ExecOptions = OperationOptions & { readonly sudo?: boolean; readonly timeout?: string };

/** Runs a command once on each node, and prints what it printed, node by node. */
export async function exec(name: string, words: readonly string[], options: ExecOptions): Promise<number> {
  const intent = intentOf(words, options);
  return withSession(options, async (session) => {
    const { output } = session;
    await requireCluster(session, name);
    if (options.plan === true)
      return showPreview(output, name, intent, await previewOperation(session, name, intent));
    const since = Date.now();
    await checkFirst(session, name, intent, options);
    const reply = await session.client.operate(name, intent, { queue: options.queue === true });
    if (!options.wait) return leaveIt(output, name, reply);
    const end = await followOperation(session, { name, operation: reply.operation, since, fleeting: true });
    const { operation, status } = end;
    const nodes = intent.nodes ?? status.nodes.map(({ nodeId }) => nodeId);
    const results = operation.tasks.total === 0 ? [] : await readResults(session, name, operation, nodes);
    printResults(output, name, results);
    return reportResults(output, end, results);
  });
}

/**
 * As with ssh: one word with blanks is a line for the node's shell, several words are a program and its
 * arguments.
 */
function intentOf(words: readonly string[], options: ExecOptions): ExecIntent {
  const [line = ''] = words;
  const command = words.length === 1 ? line : quoteWords(words);
  if (command.trim() === '')
    throw new CliError('Usage', 'the command is empty', { next: 'heddle exec --help' });
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  if (options.timeout !== undefined && timeoutMs === undefined) {
    throw new CliError(
      'Usage',
      `--timeout is "${options.timeout}", which is no duration; write it as 30s, 10m or 1h30m, at most 30 days`,
      { next: 'heddle exec --help' },
    );
  }
  return {
    kind: 'exec',
    command,
    ...scopeOf(options),
    ...(options.sudo === true ? { sudo: true } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

function reportResults(output: Output, end: WaitResult, results: readonly ExecResult[]): number {
  const { operation, status } = end;
  if (operation.state !== 'done' && operation.state !== 'failed')
    return reportEnd(output, end, { now: Date.now() });
  const all = results.length > 0 && results.every(succeeded);
  const error = all
    ? undefined
    : new CliError('Failed', describeResults(results), { next: `heddle logs ${status.name} --action EXEC` });
  output.document({
    cluster: status.name,
    clusterUid: status.uid,
    operation,
    results,
    error: error === undefined ? undefined : { code: error.code, message: error.message, next: error.next },
  });
  if (error === undefined) return exitCodes.ok;
  if (output.json) return exitCodes.failed;
  throw error;
}
