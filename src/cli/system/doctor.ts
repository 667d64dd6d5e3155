import { Connection } from '@temporalio/client';
import type { Config } from '../../config/index.js';
import { checkServer } from '../../server/check.js';
import { chooseServer, readConfiguration, type ServerChoice, type ServerOptions } from '../configuration.js';
import {
  checkDisk,
  checkFolder,
  checkKeys,
  checkMachines,
  checkNode,
  checkPlugins,
  configOfWorkers,
  fail,
  type Finding,
  ok,
  skipped,
  warn,
} from './doctor-local.js';
import { checkSweep } from './doctor-sweep.js';
import { checkAttributes, checkEncryption, checkNamespace, checkPollers } from './doctor-server.js';
import { exitCodes } from '../errors.js';
import { createOutput, type Output, type Style } from '../output.js';
import { messageOf } from '../report-error.js';
import { temporalClient } from '../session.js';

/** Checks the installation, one line per check with its remedy; exit code 1 if a check fails. */
export async function doctor(options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const findings: Finding[] = [];
  const tell = (found: readonly Finding[]): void => {
    for (const finding of found) {
      findings.push(finding);
      printFinding(output, finding);
    }
  };
  tell([checkNode()]);
  const config = readConfig(options);
  tell([config.finding]);
  if (config.value !== undefined) await examine(config.value, options, tell);
  const failed = findings.filter(({ state }) => state === 'fail').length;
  output.line();
  output.line(failed === 0 ? 'All is well.' : `${failed} of ${findings.length} checks failed.`);
  output.document({ ok: failed === 0, checks: findings });
  return failed === 0 ? exitCodes.ok : exitCodes.failed;
}

type Tell = (found: readonly Finding[]) => void;

async function examine(config: Config, options: ServerOptions, tell: Tell): Promise<void> {
  tell([
    checkFolder('data folder', config.dataFolder),
    checkFolder('store', config.storeFolder),
    await checkDisk(config.dataFolder),
    checkKeys(config),
  ]);
  tell([await checkPlugins(config)]);
  const server = await chooseServer(config, options);
  const workers = configOfWorkers(config, server.dev);
  tell(await checkMachines(workers));
  const location = {
    ...(server.dev === undefined ? config.temporal.connection : {}),
    address: server.address,
  };
  const answer = await checkServer(location).catch((error: unknown) => messageOf(error));
  if (typeof answer === 'string') {
    tell([fail('server', answer, 'heddle dev'), skipped('workers', 'unknown without a server')]);
    return;
  }
  const who = `${server.address}, version ${answer.serverVersion} (${origins[server.from]})`;
  tell([answer.warning === undefined ? ok('server', who) : warn('server', `${who}: ${answer.warning}`)]);
  const connection = Connection.lazy(location);
  try {
    const namespace = await checkNamespace(connection, server.namespace);
    tell([namespace]);
    if (namespace.state === 'fail') return;
    tell([
      await checkAttributes(connection, server.namespace),
      await checkEncryption(connection, server.namespace, config),
    ]);
    tell(await checkPollers(connection, server.namespace, workers));
    tell([await checkSweep(() => temporalClient(connection, server.namespace, config), Date.now())]);
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

function readConfig(options: ServerOptions): { readonly finding: Finding; readonly value?: Config } {
  try {
    const value = readConfiguration(options);
    return {
      value,
      finding: ok('configuration', value.file ?? 'no heddle.yaml, so defaults and the environment'),
    };
  } catch (error) {
    return { finding: fail('configuration', messageOf(error)) };
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
