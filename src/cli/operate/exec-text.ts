import { cleanLine, cleanText } from '../clean-text.js';
import type { ExecResult } from './exec-results.js';
import type { Output } from '../output.js';

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
  return `${failed.length} of ${results.length} ${results.length === 1 ? 'node' : 'nodes'} failed: ${named}${failed.length > 5 ? ` and ${failed.length - 5} more` : ''}`;
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
