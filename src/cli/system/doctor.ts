import type { Config } from '../../config/index.js';
import { openConnection } from '../../server/connect.js';
import { chooseServer, readConfiguration, type ServerChoice, type ServerOptions } from '../configuration.js';
import {
  checkDisk,
  checkFolder,
  checkKeys,
  checkLogs,
  checkLibcloud,
  checkPrograms,
  checkMachines,
  checkNode,
  checkSettings,
  checkPlugins,
  checkRunFolders,
  configOfWorkers,
  fail,
  type Finding,
  ok,
  skipped,
  warn,
} from './doctor-local.js';
import { checkObjectStore } from './doctor-object-store.js';
import { checkSweep } from './doctor-sweep.js';
import { checkClusters, checkWorkflows } from './doctor-workflows.js';
import {
  checkAttributes,
  checkBuilds,
  checkClock,
  checkDifferences,
  checkEncryption,
  checkLoadedPlugins,
  checkNamespace,
  checkPollers,
  checkReloads,
} from './doctor-server.js';
import { exitCodes } from '../errors.js';
import { inspectPlugins } from '../inspect-plugins.js';
import { createOutput, type Output, type Style } from '../output.js';
import { reachServer } from '../reach-server.js';
import { describeError, messageOf } from '../report-error.js';
import { temporalClient } from '../session.js';
import { localVerb } from '../verb.js';

type DoctorOptions = ServerOptions & { readonly severity: 'warn' | 'fail' };

/** Checks the installation, one line per check with its remedy; exit code 1 if anything is not well. */
export const doctor = localVerb(
  async (options: DoctorOptions) => {
    const output = createOutput(options);
    const findings: Finding[] = [];
    for await (const finding of examine(options)) {
      findings.push(finding);
      printFinding(output, finding);
    }
    const count = (wanted: Finding['state']): number =>
      findings.filter(({ state }) => state === wanted).length;
    const [failed, warned] = [count('fail'), count('warn')];
    const isWell = failed === 0 && (warned === 0 || options.severity === 'fail');
    return { isWell, failed, warned, checks: findings };
  },
  {
    document: ({ isWell, checks }) => ({ ok: isWell, checks }),
    print: (output, { failed, warned, checks }) => {
      output.line();
      output.line(summaryOf(failed, warned, checks.length));
    },
    exitCode: ({ isWell }) => (isWell ? exitCodes.ok : exitCodes.failed),
  },
);

function summaryOf(failed: number, warned: number, all: number): string {
  const warnings = `${warned} ${warned === 1 ? 'warning' : 'warnings'}`;
  if (failed > 0) return `${failed} of ${all} checks failed${warned > 0 ? `, ${warnings}` : ''}.`;
  return warned > 0 ? `No check failed; ${warnings}.` : 'All checks passed.';
}

async function* examine(options: ServerOptions): AsyncGenerator<Finding> {
  yield checkNode();
  const config = readConfig(options);
  if ('state' in config) return yield config;
  yield ok('configuration', config.file ?? 'no heddle.yaml; using defaults and the environment');
  yield checkFolder('data folder', config.dataFolder);
  yield checkFolder('store', config.store.folder);
  yield await checkLogs(config);
  yield checkRunFolders(config);
  if (config.store.s3 !== undefined) yield checkObjectStore(config);
  yield checkDisk(config.dataFolder);
  yield checkKeys(config);
  const plugins = await inspectPlugins(config).catch((error: unknown) => messageOf(error));
  yield checkPlugins(plugins);
  const accounts = typeof plugins === 'string' ? undefined : checkSettings(plugins, config);
  if (accounts !== undefined) yield accounts;
  if (typeof plugins !== 'string') yield await checkPrograms(plugins, config);
  // A Python environment that another user may write is not started.
  if (accounts?.state === 'ok') yield* await checkLibcloud(config, plugins);
  const server = await chooseServer(config, options).catch(describeError);
  if ('message' in server) return yield fail('server', server.message, server.next);
  const workers = configOfWorkers(config, server.dev);
  yield* await checkMachines(workers);
  const answer = await reachServer(config, server).catch(describeError);
  if ('message' in answer) {
    yield fail('server', answer.message, answer.next);
    return yield skipped('workers', 'unknown without a server');
  }
  const who = `${server.address}, version ${answer.serverVersion} (${origins[server.from]})`;
  yield answer.warning === undefined ? ok('server', who) : warn('server', `${who}: ${answer.warning}`);
  const connection = openConnection(answer.location);
  try {
    const namespace = await checkNamespace(connection, server.namespace);
    yield namespace;
    if (namespace.state === 'fail') return;
    yield checkClock(connection, server.namespace);
    yield checkAttributes(connection, server.namespace);
    yield checkEncryption(connection, server.namespace, config);
    yield* await checkPollers(connection, server.namespace, workers);
    if (typeof plugins !== 'string')
      yield checkLoadedPlugins(connection, server.namespace, workers.site, plugins.versions());
    yield checkBuilds(connection, server.namespace);
    yield checkDifferences(connection, server.namespace);
    yield checkReloads(connection, server.namespace);
    yield checkWorkflows(() => temporalClient(connection, server.namespace, config));
    yield checkClusters(() => temporalClient(connection, server.namespace, config));
    yield checkSweep(() => temporalClient(connection, server.namespace, config), Date.now());
  } finally {
    await connection.close();
  }
}

const origins: Readonly<Record<ServerChoice['from'], string>> = {
  flag: 'from --address',
  configuration: 'from TEMPORAL_* or temporal.toml',
  dev: 'of heddle dev',
  default: 'the default address',
};

function readConfig(options: ServerOptions): Config | Finding {
  try {
    return readConfiguration(options);
  } catch (error) {
    return fail('configuration', messageOf(error));
  }
}

const styles: Readonly<Record<Finding['state'], Style>> = {
  ok: 'green',
  warn: 'yellow',
  fail: 'red',
  skipped: 'dim',
};

function printFinding(output: Output, { check, state, text, next }: Finding): void {
  const [first = '', ...more] = text.split('\n');
  output.raw(`${output.style(styles[state], state.padEnd(7))} ${check.padEnd(18)} ${first}`);
  for (const line of more) output.line(`${' '.repeat(27)}${line}`);
  if (next !== undefined) output.line(`${' '.repeat(27)}next: ${next}`);
}
