import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { findPlugins, type FoundPlugin } from '../../plugins/find-plugins.js';
import { builtInRoot, typeFolders } from '../../plugins/plugin-names.js';
import { readPluginSuite } from '../../schema/plugin-suite.js';
import { ProblemsError } from '../../schema/problem.js';
import { suggest } from '../../schema/suggest.js';
import { rulesOf, type ContractRule } from '../../testing/contract-rules.js';
import { runSuite, type CaseOutcome } from '../../testing/run-suite.js';
import { readConfiguration, type CommonOptions } from '../configuration.js';
import { CliError, exitCodes } from '../errors.js';
import { formatDuration } from '../format.js';
import { catchInterrupt } from '../interrupts.js';
import { createOutput, type Output } from '../output.js';
import { localVerb } from '../verb.js';
import { suiteOf, type SuiteSettings } from './suite-options.js';

interface TestOptions extends CommonOptions {
  /** The plugin's own folder, or one that contains it. */
  readonly folder?: string;
  /** A file with settings of the suite. */
  readonly settings?: string;
  /** Only these cases. */
  readonly case?: readonly string[];
}

/** Runs the suite of the contract against a plugin, here and now. */
export const test = localVerb(
  async (name: string, options: TestOptions) => {
    const config = readConfiguration(options);
    const plugin = findPlugin(name, config.plugins, options);
    const settings = readSettings(plugin, options.settings);
    const suite = suiteOf(plugin, settings, config);
    const ids = suite.cases.map(({ id }) => id);
    const unknown = options.case?.find((id) => !ids.includes(id));
    if (unknown !== undefined)
      throw new CliError(
        'Usage',
        `case ${JSON.stringify(unknown)} does not exist. ${suggest(unknown, ids) ?? ''}`,
      );
    const { type } = plugin.descriptor;
    const output = createOutput(options);
    output.line(`${type} ${name} ${plugin.descriptor.version} in ${plugin.folder}`, 'bold');
    const { signal, release } = catchInterrupt();
    signal.addEventListener('abort', () => output.note('interrupted: the case that runs cleans up first'));
    try {
      const outcomes = await runSuite(suite, {
        only: options.case,
        signal,
        onEnd: (outcome) => printCase(output, outcome, rulesOf(type, outcome.id)),
      });
      return { report: describe({ plugin, settings, outcomes }), isInterrupted: signal.aborted };
    } finally {
      release();
    }
  },
  {
    document: ({ report }) => report,
    print: (output, { report: { passed, failed, skipped, cases, plugin } }) => {
      const took = formatDuration(cases.reduce((sum, { ms }) => sum + ms, 0));
      const count = `${passed} passed, ${failed} failed, ${skipped} skipped`;
      output.line(`${plugin}: ${count} in ${took}`, failed > 0 ? 'red' : 'green');
      const first = cases.find(({ outcome }) => outcome === 'failed');
      if (first !== undefined) output.line(`again: heddle plugins test ${plugin} --case ${first.id}`);
    },
    error: ({ isInterrupted }) =>
      isInterrupted ? new CliError('Interrupted', 'interrupted: the other cases did not run') : undefined,
    exitCode: ({ report: { failed } }) => (failed > 0 ? exitCodes.failed : exitCodes.ok),
  },
);

/** The plugin of a folder that is named, of heddle.yaml, or of the current folder. */
function findPlugin(name: string, configured: readonly string[], { folder }: TestOptions): FoundPlugin {
  const own = folder === undefined ? undefined : ownerOf(resolve(folder), name);
  const roots = own === undefined ? withCurrent(configured, name) : [own.root];
  const { found, problems } = findPlugins([builtInRoot, ...roots], builtInRoot);
  if (problems.length > 0) throw new ProblemsError('These plugins cannot be used:', problems);
  const named = found.filter(
    ({ descriptor, folder: place }) =>
      descriptor.name === name && (own?.plugin === undefined || place === own.plugin),
  );
  const [plugin, other] = named;
  if (plugin === undefined) {
    const names = found.map(({ descriptor }) => descriptor.name);
    throw new CliError(
      'NotFound',
      `plugin ${JSON.stringify(name)} does not exist in ${roots.join(', ') || 'heddle.yaml'}. ${suggest(name, names) ?? ''}`.trim(),
      { next: 'heddle plugins' },
    );
  }
  if (other !== undefined)
    throw new CliError('Usage', `a provider and an automator have the name ${name}`, {
      next: `heddle plugins test ${name} --folder ${plugin.folder}`,
    });
  return plugin;
}

/** A plugin's own folder stands for the one that contains `providers` or `automators`. */
function ownerOf(folder: string, name: string): { readonly root: string; readonly plugin?: string } {
  const isOwn =
    existsSync(join(folder, `${name}.json`)) &&
    Object.values(typeFolders).some((type) => type === basename(dirname(folder)));
  return isOwn ? { root: dirname(dirname(folder)), plugin: folder } : { root: folder };
}

/** An author needs no heddle.yaml. */
function withCurrent(configured: readonly string[], name: string): readonly string[] {
  const current = process.cwd();
  const isHere = Object.values(typeFolders).some((type) =>
    existsSync(join(current, type, name, `${name}.json`)),
  );
  return isHere && !configured.includes(current) ? [...configured, current] : configured;
}

function readSettings({ descriptor, folder }: FoundPlugin, given: string | undefined): SuiteSettings {
  const { type, name } = descriptor;
  const file = given ?? join(folder, `${name}.suite.yaml`);
  if (given === undefined && !existsSync(file)) {
    if (type === 'automator') return { suite: {}, file: undefined, chosenBy: 'user' };
    throw new CliError('Usage', `${file} is missing: it names the account that the suite may use`, {
      remedy: `write it, or name it with --settings; docs/reference/plugins/suites.md describes it`,
      next: `heddle plugins test ${name}`,
    });
  }
  const reading = readPluginSuite(file, type);
  if (!reading.ok) throw new ProblemsError('The settings of the suite cannot be used:', reading.problems);
  return { suite: reading.suite, file, chosenBy: given === undefined ? 'plugin' : 'user' };
}

function describe({
  plugin: { descriptor, folder, digest },
  settings: { file },
  outcomes,
}: {
  readonly plugin: FoundPlugin;
  readonly settings: SuiteSettings;
  readonly outcomes: readonly CaseOutcome[];
}) {
  const { type, name } = descriptor;
  const count = (wanted: CaseOutcome['outcome']): number =>
    outcomes.filter(({ outcome }) => outcome === wanted).length;
  return {
    plugin: name,
    type,
    folder,
    digest,
    ...(file === undefined ? {} : { settings: file }),
    cases: outcomes.map((outcome) => ({
      ...outcome,
      rules: rulesOf(type, outcome.id).map(({ name: rule, text }) => ({ name: rule, text })),
    })),
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
  };
}

/** Of a longer message, such as a comparison of large objects. */
const mostLines = 30;
const styles = { passed: 'green', failed: 'red', skipped: 'yellow' } as const;

function printCase(
  output: Output,
  { id, title, outcome, why }: CaseOutcome,
  rules: readonly ContractRule[],
): void {
  output.raw(`${output.style(styles[outcome], outcome.padEnd(7))}  ${id}: ${title}`);
  if (outcome === 'failed') for (const { name, text } of rules) output.line(`         rule ${name}: ${text}`);
  const lines = (why ?? '').split('\n').filter((line) => line.trim() !== '');
  for (const line of lines.slice(0, mostLines)) output.line(`         ${line}`);
  if (lines.length > mostLines) output.line(`         … and ${lines.length - mostLines} more lines`);
}
