import { existsSync } from 'node:fs';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { call } from '../../client/call.js';
import type { Config } from '../../config/index.js';
import {
  exportRemedy,
  HistoryError,
  replayHistories,
  runningHistories,
  type HistoryToReplay,
  type ReplayFault,
  type ReplayFaultKind,
  type ReplayOptions,
  type ReplayReport,
} from '../../replay/index.js';
import { readTextFile } from '../../schema/read-text.js';
import { KeyError, type KeyRing } from '../../secrets/keys.js';
import { cleanLine } from '../clean-text.js';
import { CliError, exitCodes } from '../errors.js';
import { chooseServer, openKeys, readConfiguration, type ServerOptions } from '../configuration.js';
import { createOutput, type Output } from '../output.js';
import { withSession } from '../session.js';

export interface ReplayVerbOptions extends ServerOptions {
  readonly allRunning?: boolean;
  /** Path of a workflow bundle. */
  readonly bundle?: string;
}

/** Whether this build can continue these workflows. Replays exports from files, or the running workflows. */
export async function replay(files: readonly string[], options: ReplayVerbOptions): Promise<number> {
  const running = options.allRunning === true;
  if (running === files.length > 0) {
    throw new CliError('Usage', 'give files with histories, or --all-running for what runs on the server', {
      next: 'heddle replay --help',
    });
  }
  // The SDK would log what we say better.
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  return running ? replayRunning(options) : replayFiles(files, options);
}

async function replayRunning(options: ReplayVerbOptions): Promise<number> {
  return withSession(options, async ({ config, temporal }) => {
    const histories = runningHistories(temporal, {
      call: (what, make) => call(temporal, what, make, fetchMs),
    });
    const tally = await replayAll(
      histories,
      replayOptions(config, openKeys(config), temporal.options.namespace, options),
      options,
    );
    if (tally.length === 0) createOutput(options).line('no Heddle workflow runs here: nothing can be broken');
    // A running workflow that cannot continue is a failure, also one of a type that this build lacks.
    return exitOf(tally, ['not-a-history', 'undecryptable']);
  });
}

/** Histories can be long. */
const fetchMs = 60_000;

async function replayFiles(files: readonly string[], options: ReplayVerbOptions): Promise<number> {
  const config = readConfiguration(options);
  const { namespace } = await chooseServer(config, options);
  const tally = await replayAll(
    readFiles(files),
    replayOptions(config, keysOrNone(config), namespace, options),
    options,
  );
  return exitOf(tally, ['not-a-history', 'undecryptable', 'unknown-type']);
}

function* readFiles(files: readonly string[]): Generator<HistoryToReplay> {
  for (const source of files) {
    const reading = readTextFile(source, maxFileBytes);
    yield {
      source,
      history: reading.ok ? reading.text : new HistoryError(`cannot be read: ${reading.wrong}`),
    };
  }
}

/** The server ends a history at 50 MB; in JSON, with base64 inside, it is longer. */
const maxFileBytes = 256 * 1024 * 1024;

/** Exports in plaintext need no keys. */
function keysOrNone(config: Config): KeyRing | undefined {
  try {
    return openKeys(config);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    process.stderr.write(`warning: ${error.message}\n`);
    return undefined;
  }
}

function replayOptions(
  { encryption }: Config,
  keys: KeyRing | undefined,
  namespace: string,
  { bundle }: ReplayVerbOptions,
): ReplayOptions {
  if (bundle !== undefined && !existsSync(bundle))
    throw new CliError(
      'Usage',
      `there is no workflow bundle ${cleanLine(bundle)}; a build leaves it in dist/workflow-bundle.js`,
    );
  return { namespace, keys, onPlaintext: encryption === 'optional' ? 'pass' : undefined, bundlePath: bundle };
}

/** A line each as they are done, then what it comes to. */
async function replayAll(
  histories: Iterable<HistoryToReplay> | AsyncIterable<HistoryToReplay>,
  how: ReplayOptions,
  options: ReplayVerbOptions,
): Promise<readonly ReplayReport[]> {
  const output = createOutput(options);
  const reports: ReplayReport[] = [];
  for await (const report of replayHistories(histories, how)) {
    reports.push(report);
    printReport(output, report);
  }
  const replayed = reports.filter(({ ok }) => ok).length;
  const next = nextStep(reports);
  output.document({
    histories: reports,
    total: reports.length,
    ok: replayed,
    failed: reports.length - replayed,
    next,
  });
  if (next !== undefined) {
    output.line(
      `${reports.length} ${reports.length === 1 ? 'history' : 'histories'}: ${replayed} ${replayed === 1 ? 'replays' : 'replay'}, ${reports.length - replayed} not`,
    );
    output.line(`next: ${next}`);
  }
  return reports;
}

function printReport(output: Output, { ok, source, workflowId, runId, events, error }: ReplayReport): void {
  const name = [source, workflowId && `${workflowId} (${runId})`].filter(Boolean).join(': ');
  const mark = output.style(ok ? 'green' : 'red', ok ? 'ok  ' : 'FAIL');
  const text = error === undefined ? `${events} events` : describeIntent(error);
  output.raw(`${mark} ${cleanLine(name)}: ${cleanLine(text)}`);
}

function describeIntent({ kind, message }: ReplayFault): string {
  return kind === 'nondeterminism' ? `does not replay: ${message}` : message;
}

/** What helps most comes first. Undefined when nothing was replayed. */
function nextStep(reports: readonly ReplayReport[]): string | undefined {
  if (reports.length === 0) return undefined;
  const has = (...kinds: readonly ReplayFaultKind[]): boolean =>
    reports.some(({ error }) => error !== undefined && kinds.includes(error.kind));
  if (has('nondeterminism', 'failure'))
    return "keep this build's workers away from these workflows, and put what changed behind patched(); see docs/upgrading.md";
  if (has('unknown-type')) return 'run a build that has these workflow types; see docs/upgrading.md';
  if (has('undecryptable'))
    return 'heddle keys import FILE, with the keys of where they were written; --namespace names the namespace they were written in';
  if (has('not-a-history')) return exportRemedy;
  return 'start workers of this build, one at a time; see docs/upgrading.md';
}

/** @param badInput what says nothing about the build. */
function exitOf(reports: readonly ReplayReport[], badInput: readonly ReplayFaultKind[]): number {
  const kinds = reports.flatMap(({ error }) => (error === undefined ? [] : [error.kind]));
  if (kinds.some((kind) => !badInput.includes(kind))) return exitCodes.failed;
  return kinds.length > 0 ? exitCodes.usage : exitCodes.ok;
}
