import { existsSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Config, loadConfig } from '../../config/index.js';
import { otherOwnerOf } from '../../config/own-files.js';
import { isWritable } from '../../config/prepare-folder.js';
import { runProgram } from '../../config/run-program.js';
import type { Registry } from '../../plugins/registry.js';
import { checkConfiguration } from '../../plugins/check-accounts.js';
import { ProblemsError } from '../../schema/problem.js';
import { openKeys } from '../configuration.js';
import { measureLogs } from '../../store/prune-logs.js';
import { whyOpen } from '../../schema/trusted-path.js';
import { messageOf } from '../report-error.js';
import { lackingPrograms } from '../plugin/lacking.js';
import type { DoctorCheck } from '../explain/checks.js';
import type { DevRecord } from './dev-record.js';

const gibibyte = 1024 ** 3;

export function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return ok('Node', process.versions.node);
  return fail('Node', `${process.versions.node} is too old; 20.19 or newer is required (https://nodejs.org)`);
}

/** Checks that only its owner can read the folder. It is created at first use. */
export function checkFolder(check: Check, folder: string): Finding {
  const other = otherOwnerOf(folder);
  if (other !== undefined)
    return warn(check, `${folder} belongs to user ${other}, and workers run as that user`, doctorAs(other));
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return ok(check, `${folder} is created at first use`);
  if (!isWritable(folder))
    return fail(check, `${folder} is not writable by this user`, `chmod 700 '${folder}'`);
  const distrust = whyOpen(folder, stat);
  return distrust === undefined
    ? ok(check, folder)
    : fail(check, `${folder} ${distrust.wrong}`, distrust.right);
}

function doctorAs(user: number): string {
  return `sudo -u '#${user}' heddle doctor`;
}

/** Of the folder, or where it will be. */
export async function checkDisk(folder: string): Promise<Finding> {
  let place = folder;
  while (!existsSync(place)) place = dirname(place);
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const text = `${(free / gibibyte).toFixed(1)} GiB free at ${place}`;
  if (free < gibibyte / 10) return fail('disk', `${text}: too little for the server's database and logs`);
  return free < gibibyte
    ? warn('disk', `${text}: little for the server's database and logs`)
    : ok('disk', text);
}

/** How much of their bounds the logs of tasks take. */
export async function checkLogs({ store }: Pick<Config, 'store'>): Promise<Finding> {
  const { files, bytes } = await measureLogs(store.folder);
  const { logDays, logFiles, logMb } = store;
  const size = (bytes / 1024 ** 2).toFixed(1);
  const text = `${files} of at most ${logFiles} logs of tasks, ${size} of at most ${logMb} MiB, for ${logDays} days`;
  return files > logFiles || bytes > logMb * 1024 ** 2
    ? warn('logs', `${text}: a worker with this store removes the oldest within an hour`, 'heddle worker')
    : ok('logs', text);
}

/**
 * The bounds of the run folders on each node. Their size is known only there, and thousands of
 * nodes are not queried.
 */
export function checkRunFolders({ runFolders }: Pick<Config, 'runFolders'>): Finding {
  const { count, sizeMb, days, outputMb } = runFolders;
  return ok(
    'run folders',
    `at most ${count} for each user of a node, ${sizeMb} MiB, for ${days} days, with ${outputMb} MiB of each output; ` +
      `nodes remove the oldest. To measure those of a cluster:\nheddle exec NAME -- '${measureRunFolders}'`,
  );
}

const measureRunFolders = 'cd ~/.heddle/runs && ls | wc -l && du -sk .';

export function checkKeys(config: Config): Finding {
  try {
    const keys = openKeys(config).list();
    const current = keys.find((key) => key.current);
    return ok(
      'keys',
      `${keys.length} in ${config.exportedKeys === undefined ? config.keys.folder : 'HEDDLE_KEYS'}, ${current?.id} encrypts`,
    );
  } catch (error) {
    return fail('keys', messageOf(error), 'heddle keys import FILE, or heddle dev');
  }
}

/** If `found` is a text, it is the reason why the plugins cannot be loaded. */
export function checkPlugins(found: Registry | string): Finding {
  if (typeof found === 'string') return fail('plugins', found, 'heddle plugins');
  const names = (plugins: readonly { readonly descriptor: { readonly name: string } }[]): string =>
    plugins.map(({ descriptor }) => descriptor.name).join(', ');
  return ok('plugins', `providers ${names(found.providers())}; automators ${names(found.automators())}`);
}

/** What a worker would refuse of the fields of accounts and automators, files of other users among them. */
export function checkSettings(registry: Registry, config: Config): Finding {
  const other = otherOwnerOf(config.dataFolder);
  try {
    checkConfiguration(registry, config, { files: other === undefined });
  } catch (error) {
    if (error instanceof ProblemsError) return fail('accounts', error.message, 'heddle config show');
    throw error;
  }
  const count = Object.keys(config.providers).length;
  const fields = `fields of ${count} provider ${count === 1 ? 'account' : 'accounts'}`;
  if (other === undefined) return ok('accounts', `${fields}, and the files that heddle.yaml names`);
  return warn(
    'accounts',
    `${fields}; the files that heddle.yaml names are checked only as user ${other}`,
    doctorAs(other),
  );
}

/** A check; with a name in brackets if it is about one account of several. */
type Check = DoctorCheck | `${DoctorCheck} (${string})`;

/** What one check of `heddle doctor` found. */
export interface Finding {
  readonly check: Check;
  readonly state: 'ok' | 'warn' | 'fail' | 'skipped';
  readonly text: string;
  /** The command that helps. */
  readonly next?: string;
}

export function ok(check: Check, text: string): Finding {
  return { check, state: 'ok', text };
}

export function warn(check: Check, text: string, next?: string): Finding {
  return { check, state: 'warn', text, next };
}

export function fail(check: Check, text: string, next?: string): Finding {
  return { check, state: 'fail', text, next };
}

export function skipped(check: Check, text: string): Finding {
  return { check, state: 'skipped', text };
}

/**
 * What the workers of this machine are configured with: beside `heddle dev`, its machine service is among the
 * providers.
 */
export function configOfWorkers(config: Config, dev: DevRecord | undefined): Config {
  return dev === undefined ? config : loadConfig({ configFlag: dev.workerConfig, env: config.environment });
}

/** Whether this machine has the programs that the configured accounts and automators need. */
export async function checkPrograms(
  plugins: Registry,
  { providers, automators, environment }: Config,
): Promise<Finding> {
  const used = [
    ...Object.entries(providers).map(([name, { type, fields }]) => ({
      who: `account ${name} (${type})`,
      descriptor: plugins.providers().find(({ descriptor }) => descriptor.name === type)?.descriptor,
      fields,
    })),
    ...Object.entries(automators).map(([name, { fields }]) => ({
      who: `automator ${name}`,
      descriptor: plugins.automators().find(({ descriptor }) => descriptor.name === name)?.descriptor,
      fields,
    })),
  ];
  const needs: string[] = [];
  for (const { who, descriptor, fields } of used) {
    const lacks =
      descriptor === undefined ? [] : await lackingPrograms(descriptor, environment['PATH'], fields);
    if (lacks.length > 0) needs.push(`${who} needs ${lacks.join(', ')}`);
  }
  return needs.length === 0
    ? ok('programs', 'all programs of accounts and automators are on PATH')
    : warn('programs', `not on PATH of this machine: ${needs.join('; ')}`, 'heddle plugins');
}

/** Whether Apache Libcloud can be loaded on this machine, for each account that needs it. */
export async function checkLibcloud(
  { providers, environment, programs: { pythonFolder = '' } }: Config,
  plugins: Registry | string,
): Promise<readonly Finding[]> {
  if (typeof plugins === 'string') return [];
  const accounts = Object.entries(providers).filter(([, { type }]) => type === 'libcloud');
  return Promise.all(
    accounts.map(async ([name, { fields }]): Promise<Finding> => {
      const check = `libcloud (${name})` as const;
      const program = join(plugins.provider('libcloud').folder, 'api.py');
      const { venv } = fields;
      const words = ['-s', '-B', program, ...(typeof venv === 'string' ? [venv] : [])];
      const { stdout, stderr, failure } = await runProgram('python3', words, {
        environment: { from: environment, set: { HEDDLE_PYTHON: join(pythonFolder, 'libcloud') } },
        timeoutMs: 30_000,
      });
      if (failure === undefined) return ok(check, `Apache Libcloud ${stdout.trimEnd()}`);
      const text = stderr === '' ? `python3 cannot be run: ${failure.why}` : stderr.trimEnd();
      return fail(check, text, 'heddle plugins setup libcloud');
    }),
  );
}

/** Whether the machine services of `local` providers answer. */
export async function checkMachines({ providers }: Config): Promise<readonly Finding[]> {
  const local = Object.entries(providers).filter(([, { type }]) => type === 'local');
  return Promise.all(
    local.map(async ([name, { fields }]): Promise<Finding> => {
      const check = `machines (${name})` as const;
      const { endpoint } = fields;
      if (typeof endpoint !== 'string')
        return ok(check, 'the address of its machine service is a secret reference, which workers resolve');
      try {
        const response = await fetch(new URL('/v1/health', endpoint), { signal: AbortSignal.timeout(3_000) });
        const { kind } = (await response.json()) as { readonly kind?: string };
        return response.ok
          ? ok(check, `${endpoint}, machines are of kind ${kind ?? 'unknown'}`)
          : fail(check, `${endpoint} answers with status ${response.status}`);
      } catch (error) {
        const { cause } = error instanceof Error ? error : {};
        return fail(
          check,
          `no machine service answers at ${endpoint}: ${cause instanceof Error ? cause.message : String(error)}`,
          'heddle dev',
        );
      }
    }),
  );
}
