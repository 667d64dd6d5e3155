import type { IntentOf } from '../../model/plan/intent/intent.js';
import { parseDuration } from '../../model/duration.js';
import { quoteWords } from '../../ssh/quote.js';
import { cleanLine, cleanText } from '../clean-text.js';
import type { OperationOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import type { Output } from '../output.js';
import { clusterVerb } from './cluster-verb.js';
import { describeCut, type ExecResult, readResults } from './exec-results.js';
import { operate, scopeOf } from './operate.js';
import { outcomeShown } from './outcome.js';
import { formatCount } from '../format.js';
import type { Session } from '../session.js';
import { type NodeOptions, selectNodes } from './select-nodes.js';

type ExecOptions = Omit<OperationOptions, 'timeout'> &
  NodeOptions & {
    readonly sudo?: true;
    /** Of the command on each node. */
    readonly timeout?: string;
  };

/** Runs a command once on each node, and prints what it printed, node by node. */
export function exec(name: string, words: readonly string[], options: ExecOptions): Promise<number> {
  return run(name, intentOf(words, options), options);
}

const run = clusterVerb(
  async (session, name, wanted: IntentOf<'exec'>, options: ExecOptions) => {
    const intent = { ...wanted, nodes: await nodesFor(session, name, options) };
    const outcome = await operate(session, name, intent, { ...options, timeout: undefined });
    if (!('end' in outcome)) return { outcome };
    const { operation, status } = outcome.end;
    const nodes = intent.nodes ?? status.nodes.map(({ nodeId }) => nodeId);
    const results = operation.tasks.total === 0 ? [] : await readResults(session, name, operation, nodes);
    const isEnded = operation.state === 'done' || operation.state === 'failed';
    // The results of a command are more specific than the outcome of the operation.
    return { outcome, results, operation: isEnded ? operation : undefined };
  },
  {
    document: ({ outcome, results, operation }, name) =>
      operation === undefined || !('end' in outcome)
        ? outcomeShown.document(outcome)
        : { cluster: name, clusterUid: outcome.end.status.uid, operation, results },
    print: (output, { outcome, results = [], operation }, name) => {
      printResults(output, name, results);
      if (operation === undefined) outcomeShown.print(output, outcome);
    },
    error: ({ outcome, results = [], operation }) => {
      if (operation === undefined || !('end' in outcome)) return outcomeShown.error(outcome);
      if (results.length > 0 && results.every(succeeded)) return undefined;
      return new CliError('Failed', describeResults(results), {
        next: `heddle logs ${outcome.end.status.name} --action EXEC`,
      });
    },
  },
);

/** Ids of nodes; undefined: all. */
async function nodesFor(
  { client }: Session,
  name: string,
  { nodes, services, groups }: NodeOptions,
): Promise<readonly string[] | undefined> {
  if (services === undefined && groups === undefined) return nodes;
  return selectNodes(await client.status(name), { nodes, services, groups });
}

/**
 * As with ssh: one word with blanks is a line for the node's shell, several words are a program and its
 * arguments.
 */
function intentOf(words: readonly string[], options: ExecOptions): IntentOf<'exec'> {
  const [line = ''] = words;
  const command = words.length === 1 ? line : quoteWords(words);
  if (command.trim() === '')
    throw new CliError('Usage', 'the command is empty', { next: 'heddle exec --help' });
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  if (options.timeout !== undefined && timeoutMs === undefined) {
    throw new CliError(
      'Usage',
      `--timeout "${options.timeout}" is not a valid duration; use one such as 30s, 10m or 1h30m, at most 30 days`,
      { next: 'heddle exec --help' },
    );
  }
  return { kind: 'exec', command, ...scopeOf(options), sudo: options.sudo || undefined, timeoutMs };
}

/** Prints the output of each node under its name, to the stream that it came from; cleaned for a terminal. */
function printResults(output: Output, cluster: string, results: readonly ExecResult[]): void {
  if (output.json) return;
  for (const result of results) {
    const { node, stdout, stderr } = result;
    output.line(
      `${node}:${succeeded(result) ? '' : ` ${describeResult(result)}`}`,
      succeeded(result) ? 'bold' : 'red',
    );
    write(process.stdout, stdout);
    write(process.stderr, stderr);
    if (`${stdout}${stderr}`.includes('\uFFFD'))
      output.note(
        `bytes of ${cleanLine(node)} that are not UTF-8 are shown as \uFFFD; heddle logs --json has them in base64`,
      );
    if (result.cut === true) output.note(describeCut(cluster, cleanLine(node), result));
  }
}

function succeeded({ exitCode, problem }: ExecResult): boolean {
  return exitCode === 0 && problem === undefined;
}

/** `1 of 3 nodes failed: app-2 (exit code 3)`. */
function describeResults(results: readonly ExecResult[]): string {
  if (results.length === 0) return 'the command ran on no node';
  const failed = results.filter((result) => !succeeded(result));
  const named = failed
    .slice(0, 5)
    .map((result) => `${result.node} (${describeResult(result)})`)
    .join(', ');
  return `${failed.length} of ${formatCount(results.length, 'node')} failed: ${named}${failed.length > 5 ? ` and ${failed.length - 5} more` : ''}`;
}

function describeResult({ exitCode, problem }: ExecResult): string {
  return exitCode === null || problem !== undefined
    ? cleanLine((problem ?? 'it did not end').split('\n')[0] ?? '')
    : `exit code ${exitCode}`;
}

function write(stream: NodeJS.WriteStream, text: string): void {
  if (text === '') return;
  const whole = text.endsWith('\n') ? text : `${text}\n`;
  stream.write(stream.isTTY ? cleanText(whole) : whole);
}
