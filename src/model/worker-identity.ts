/**
 * What a worker says of its configuration where all can read it: in its identity, which the server shows with
 * the workers of a queue. By entry of heddle.yaml, such as `provider/local`, a digest of it without secrets.
 */
export type ConfigDigests = Readonly<Record<string, string>>;

export interface WorkerIdentity {
  /** `<pid>@<host>`. */
  readonly worker: string;
  /**
   * Version and digest of the workflow code, such as `0.2.0+1a2b3c4d`. Absent for a worker that does not say.
   */
  readonly build?: string;
  /** Absent for a worker that does not say. */
  readonly key?: WorkerKey;
  /** Absent if the worker does not report its configuration. */
  readonly config?: ConfigDigests;
  readonly reload?: ReloadState;
}

/** What a worker did not take over of the heddle.yaml that it reads. */
export interface ReloadState {
  /** Settings that changed since its start and need another one. */
  readonly restart: readonly string[];
  /** The file is invalid or missing, and the configuration before stays. */
  readonly refused?: true;
}

/** The key with which a worker encrypts. */
export interface WorkerKey {
  readonly id: string;
  /** The path of the folder, or the name of the variable, that holds it. */
  readonly source: string;
}

/** The server refuses identities of more than 1000 characters. */
const maxIdentity = 900;
const maxSource = 300;

/** `4711@host build=0.2.0+1a2b3c4d key=k1:%2Fvar%2Flib%2Fheddle%2Fkeys config=0a1b provider/local=2c3d`. */
export function formatIdentity(
  { worker, build, key, config = {}, reload }: WorkerIdentity,
  whole: string,
): string {
  const source = encodeURIComponent(key?.source ?? '').slice(0, maxSource);
  const own = [
    worker,
    ...(build === undefined ? [] : [`build=${build}`]),
    ...(key === undefined ? [] : [`key=${key.id}:${source}`]),
    ...(reload === undefined || reload.restart.length === 0 ? [] : [`restart=${reload.restart.join(',')}`]),
    ...(reload?.refused === undefined ? [] : ['refused=heddle.yaml']),
  ];
  const entries = Object.entries({ config: whole, ...config }).map(([entry, digest]) => `${entry}=${digest}`);
  const identity = [...own, ...entries].join(' ');
  return identity.length <= maxIdentity ? identity : [...own, `config=${whole}`].join(' ');
}

export interface LoadedPlugin {
  readonly type: string;
  readonly name: string;
  readonly digest: string;
  readonly builtIn: boolean;
}

/** Plugins that come with Heddle change with it. */
export function pluginDigests(plugins: readonly LoadedPlugin[]): ConfigDigests {
  const own = plugins.filter(({ builtIn }) => !builtIn);
  return Object.fromEntries(own.map(({ type, name, digest }) => [entryOf(type, name), digest.slice(0, 8)]));
}

function entryOf(type: string, name: string): string {
  return `plugin/${type}-${name}`;
}

/**
 * The plugins that a worker runs in another content than the given one; empty if its identity does not say.
 */
export function differingPlugins<Plugin extends LoadedPlugin>(
  { config = {} }: WorkerIdentity,
  plugins: readonly Plugin[],
): readonly Plugin[] {
  const current = pluginDigests(plugins);
  return plugins.filter(({ type, name }) => {
    const entry = entryOf(type, name);
    return config[entry] !== undefined && config[entry] !== current[entry];
  });
}

const notConfig: readonly string[] = ['build', 'key', 'restart', 'refused'];

export function readIdentity(identity: string): WorkerIdentity {
  const [worker = '', ...entries] = identity.split(' ');
  const key = readKey(entries.find((entry) => entry.startsWith('key=')));
  const valueOf = (name: string): string | undefined =>
    entries.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
  const build = valueOf('build');
  const restart = valueOf('restart')?.split(',') ?? [];
  const isRefused = valueOf('refused') !== undefined;
  const reload = { restart, ...(isRefused ? { refused: true as const } : {}) };
  const own = {
    worker,
    ...(build === undefined ? {} : { build }),
    key,
    ...(restart.length === 0 && !isRefused ? {} : { reload }),
  };
  if (!entries.some((entry) => entry.startsWith('config='))) return own;
  const config = entries.flatMap((entry) => {
    const [name = '', digest] = entry.split('=');
    return digest === undefined || notConfig.includes(name) ? [] : [[name, digest] as const];
  });
  return { ...own, config: Object.fromEntries(config) };
}

function readKey(entry: string | undefined): WorkerKey | undefined {
  const [, id, source = ''] = /^key=([a-z0-9-]+):(.*)$/.exec(entry ?? '') ?? [];
  if (id === undefined) return undefined;
  try {
    return { id, source: decodeURIComponent(source) };
  } catch {
    return { id, source };
  }
}

/** How the configurations of two workers differ, in words; empty if they do not. */
function differences(one: WorkerIdentity, other: WorkerIdentity): readonly string[] {
  if (one.config === undefined || other.config === undefined) return [];
  const { config: whole, ...own } = one.config;
  const { config: otherWhole, ...others } = other.config;
  if (whole === otherWhole) return [];
  const found = [...new Set([...Object.keys(own), ...Object.keys(others)])].toSorted().flatMap((entry) => {
    const what = entry.replace('/', ' ');
    if (own[entry] === others[entry]) return [];
    if (own[entry] === undefined) return [`only ${other.worker} has ${what}`];
    return others[entry] === undefined ? [`only ${one.worker} has ${what}`] : [`${what} differs`];
  });
  return found.length > 0 ? found : ['their entries are too many to be compared one by one'];
}

/** Each worker whose configuration is not that of the first one, with the differences. */
export function differingWorkers(
  identities: readonly string[],
): readonly { readonly first: string; readonly worker: string; readonly differences: readonly string[] }[] {
  const [first, ...others] = identities.map(readIdentity).filter(({ config }) => config !== undefined);
  if (first === undefined) return [];
  return others
    .map((other) => ({ first: first.worker, worker: other.worker, differences: differences(first, other) }))
    .filter((found) => found.differences.length > 0);
}

/** `4711@a and 4712@b have different configurations: provider local differs`. */
export function describeDifference({
  first,
  worker,
  differences: found,
}: ReturnType<typeof differingWorkers>[number]): string {
  return `workers ${first} and ${worker} of one queue have different configurations: ${found.join(', ')}`;
}

/** `0.2.0+1a2b3c4d: 4711@a, 4712@b`, a line for each build; workers that do not say theirs are left out. */
export function buildLines(workers: readonly Pick<WorkerIdentity, 'worker' | 'build'>[]): readonly string[] {
  const builds = new Set(workers.flatMap(({ build }) => build ?? []));
  return [...builds].toSorted().map((build) => {
    const own = workers.filter((worker) => worker.build === build);
    return `${build}: ${own.map(({ worker }) => worker).join(', ')}`;
  });
}

/** What workers did not take over of heddle.yaml, a line for each. */
export function reloadLines(identities: readonly string[]): readonly string[] {
  return identities
    .map(readIdentity)
    .flatMap(({ worker, reload }) => [
      ...(reload?.refused === undefined
        ? []
        : [
            `worker ${worker}: heddle.yaml changed and is invalid or missing, so the previous configuration stays in effect`,
          ]),
      ...(reload === undefined || reload.restart.length === 0
        ? []
        : [`worker ${worker}: a restart is needed for changed settings: ${reload.restart.join(', ')}`]),
    ]);
}
