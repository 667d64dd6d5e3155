// What a task costs through the plugin host, and as a program of its own, against a built-in plugin in the
// worker's process.
// Usage: npm run build && node bench/plugin-host.mjs [TASKS]
// The three take turns in one run, so that all of them meet the same machine.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadRegistry } from '../dist/plugins/registry.js';
import { Provider } from '../dist/plugins/contract.js';

const tasks = Number(process.argv[2] ?? 100);

const code = `export class P {
  constructor(context) { this.context = context; }
  async create({ hostname }) { return { status: 0, result: { providerid: hostname } }; }
  async confirm() {}
  async delete() {}
}`;
const script = '#!/bin/sh\nIFS= read -r task\necho \'{"status": 0, "result": {"providerid": "m"}}\'\n';
const python =
  'import json, sys\ntask = json.load(sys.stdin)\nprint(json.dumps({"status": 0, "result": {"providerid": task["input"]["hostname"]}}))\n';

/**
 * @import { CreateInput } from '../dist/plugins/contract.js'
 * @import { ProviderContext, ProviderWithAbilities } from '../dist/plugins/registered.js'
 * @import { Registry } from '../dist/plugins/registry.js'
 */

class InProcess extends Provider {
  /** @param {CreateInput} input */
  async create({ hostname }) {
    return { status: 0, result: { providerid: hostname } };
  }
  async confirm() {}
  async delete() {}
}

const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
/** @type {Registry | undefined} */
let registry;
try {
  write('host', 'host.mjs', code, { entry: './host.mjs', class: 'P' });
  write('shell', 'shell.sh', script, { command: ['./shell.sh'] });
  write('python', 'python.py', python, { command: ['python3', './python.py'] });
  const environment = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  const loaded = await loadRegistry({
    folders: [folder],
    builtIn: false,
    log,
    programs: { environment, limits: {} },
  });
  registry = loaded;
  /** @type {Record<string, (context: ProviderContext) => ProviderWithAbilities>} */
  const ways = {
    'in process': (context) => new InProcess(context),
    'plugin host': (context) => loaded.provider('host').create(context),
    'program, sh': (context) => loaded.provider('shell').create(context),
    'program, python3': (context) => loaded.provider('python').create(context),
  };
  /** @type {Record<string, number[]>} */
  const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (let index = 0; index < tasks; index += 1) {
    for (const [way, create] of Object.entries(ways)) {
      const began = performance.now();
      await create(contextOf()).create(inputOf(`node-${index}`));
      times[way].push(performance.now() - began);
    }
  }
  const inProcess = median(times['in process']);
  for (const [way, all] of Object.entries(times)) {
    console.log(
      `${way.padEnd(17)} median ${median(all).toFixed(3)} ms, 95 % below ${quantile(all, 0.95).toFixed(3)} ms, ${(median(all) / inProcess).toFixed(0)} x in process`,
    );
  }
  const began = performance.now();
  await Promise.all(
    Array.from({ length: tasks }, () => loaded.provider('host').create(contextOf()).create(inputOf('n'))),
  );
  console.log(
    `${tasks} tasks at once through at most 32 plugin hosts: ${(performance.now() - began).toFixed(0)} ms, most of it to start the hosts`,
  );
} finally {
  await registry?.close();
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param {string} name
 * @param {string} file
 * @param {string} text
 * @param {object} more
 */
function write(name, file, text, more) {
  const plugin = join(folder, 'providers', name);
  mkdirSync(plugin, { recursive: true });
  writeFileSync(join(plugin, file), text, { mode: 0o755 });
  writeFileSync(
    join(plugin, `${name}.json`),
    JSON.stringify({ name, type: 'provider', version: '1.0.0', description: name, ...more }),
  );
}

/**
 * @param {string} hostname
 * @returns {CreateInput}
 */
function inputOf(hostname) {
  return { hostname, flavor: 'small', image: 'host', key: 'k', token: 't', tags: {}, fields: {} };
}

/** A task as of a node with 20 peers. @returns {ProviderContext} */
function contextOf() {
  const nodes = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [
      `app-${index}`,
      {
        hostname: `web-app-${index}`,
        ipaddress: '10.0.0.1',
        services: ['app'],
        nodenum: index,
        group: 'app',
      },
    ]),
  );
  /** @type {import('../dist/plugins/contract.js').Task} */
  const task = {
    taskId: 'u/app-1#1/-/CREATE/1',
    taskName: 'CREATE',
    clusterId: 'web',
    clusterUid: 'u',
    nodeId: 'app-1',
    incarnation: 1,
    attempt: 1,
    config: {},
    nodes,
    cluster: {},
    provider: { name: 'p', type: 'p', fields: {} },
  };
  return { task, log, signal: new AbortController().signal, fields: {} };
}

/** @param {readonly number[]} values */
function median(values) {
  return quantile(values, 0.5);
}

/**
 * @param {readonly number[]} values
 * @param {number} share
 */
function quantile(values, share) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
