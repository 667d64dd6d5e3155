import type { WaitResult } from '../../client/wait.js';
import type { ExecIntent } from '../../model/plan/intent.js';
import { parseDuration } from '../../schema/duration.js';
import { quoteWords } from '../../ssh/quote.js';
import { cleanLine, cleanText } from '../clean-text.js';
import type { OperationOptions } from '../configuration.js';
import { CliError, exitCodes } from '../errors.js';
import type { Output } from '../output.js';
import { withSession } from '../session.js';
import { type ExecResult, readResults } from './exec-results.js';
import { leaveIt } from './finish.js';
import { checkFirst, requireCluster, scopeOf } from './operate.js';
import { previewOperation, showPreview } from './plan/preview.js';
import { followOperation } from './progress/follow-operation.js';
import { reportEnd } from './report-operation.js';
import { formatCount } from '../format.js';

export type ExecOptions = OperationOptions & { readonly sudo?: true; readonly timeout?: string };

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
  return { kind: 'exec', command, ...scopeOf(options), sudo: options.sudo || undefined, timeoutMs };
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

/** What each node printed, under its name: to the stream it came from, cleaned where that is a terminal. */
export function printResults(output: Output, cluster: string, results: readonly ExecResult[]): void {
  if (output.json) return;
  for (const result of results) {
    const { node, stdout, stderr, log } = result;
    output.line(
      `${node}:${succeeded(result) ? '' : ` ${describeResult(result)}`}`,
      succeeded(result) ? 'bold' : 'red',
    );
    write(process.stdout, stdout);
    write(process.stderr, stderr);
    if (result.cut === true)
      output.note(
        `only the end of what ${cleanLine(node)} printed; all of it: heddle logs ${cluster} ${cleanLine(node)} --action EXEC, where ${log ?? 'its log'} lies`,
      );
  }
}

export function succeeded({ exitCode }: ExecResult): boolean {
  return exitCode === 0;
}

/** `1 of 3 nodes failed: app-2 (exit code 3)`. */
export function describeResults(results: readonly ExecResult[]): string {
  if (results.length === 0) return 'the command ran on no node';
  const failed = results.filter((result) => !succeeded(result));
  const named = failed
    .slice(0, 5)
    .map((result) => `${result.node} (${describeResult(result)})`)
    .join(', ');
  return `${failed.length} of ${formatCount(results.length, 'node')} failed: ${named}${failed.length > 5 ? ` and ${failed.length - 5} more` : ''}`;
}

function describeResult({ exitCode, problem }: ExecResult): string {
  return exitCode === null
    ? cleanLine((problem ?? 'it did not end').split('\n')[0] ?? '')
    : `exit code ${exitCode}`;
}

function write(stream: NodeJS.WriteStream, text: string): void {
  if (text === '') return;
  const whole = text.endsWith('\n') ? text : `${text}\n`;
  stream.write(stream.isTTY ? cleanText(whole) : whole);
}
