import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { checkConfiguration } from '../../src/plugins/check-accounts.js';
import { sdkFolder } from '../../src/plugins/plugin-names.js';
import { loadRegistry } from '../../src/plugins/registry.js';
import { allCommands } from '../harness/cli/all-commands.js';
import { newFolder } from '../harness/folder.js';

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly tcpSocket?: { readonly port: string };
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly Readonly<Record<string, { readonly name: string }>>[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

type Labels = Readonly<Record<string, string>>;

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly spec: {
    readonly selector?: Labels & { readonly matchLabels?: Labels };
    readonly podSelector?: { readonly matchLabels: Labels };
    readonly minReadySeconds?: number;
    readonly ingress?: readonly { readonly ports: readonly { readonly port: number }[] }[];
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly template?: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: {
        readonly securityContext: { readonly runAsUser: number; readonly runAsNonRoot: boolean };
        readonly containers: readonly [Container];
        readonly volumes?: readonly {
          readonly name: string;
          readonly configMap?: { readonly name: string };
          readonly secret?: { readonly secretName: string };
        }[];
      };
    };
  };
}

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'deploy/kubernetes');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = read('docs/guides/kubernetes.md');
const dockerfile = read('Dockerfile');

const kustomization = parse(read('deploy/kubernetes/kustomization.yaml')) as {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[];
  readonly configMapGenerator: readonly {
    readonly name: string;
    readonly files?: readonly string[];
    readonly literals?: readonly string[];
  }[];
};
const resources = kustomization.resources.flatMap((file) =>
  parseAllDocuments(read(`deploy/kubernetes/${file}`)).map((document) => document.toJS() as Resource),
);
const pods = resources.flatMap(({ spec, metadata: { name } }) =>
  spec?.template === undefined
    ? []
    : [{ name, ...spec.template, container: spec.template.spec.containers[0] }],
);
const podOf = (name: string) => {
  const found = pods.find((pod) => pod.name === name);
  if (found === undefined) throw new Error(`no pods of ${name}`);
  return found;
};
const worker = podOf('heddle-worker');
const codec = podOf('heddle-codec');

describe('the manifests of deploy/kubernetes', () => {
  test('are all listed, and rendered by kubectl where there is one', () => {
    const files = readdirSync(folder).filter((name) => !['kustomization.yaml', 'heddle.yaml'].includes(name));
    expect(kustomization.resources.toSorted()).toEqual(files.toSorted());
    const rendered = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
    if (rendered.error !== undefined) return;
    expect(rendered).toMatchObject({ status: 0, stderr: '' });
    expect(rendered.stdout).toContain('image: heddle:local');
  });

  test('name the image that the guides build', () => {
    expect(kustomization.images).toEqual([{ name: 'heddle', newName: 'heddle', newTag: 'local' }]);
    expect(pods.map(({ container }) => container.image)).toEqual(['heddle', 'heddle']);
    expect(read('docs/guides/production.md')).toContain('docker build --tag heddle:local');
  });

  test('start programs that the image has, as its user', () => {
    expect(dockerfile).toContain('ln -s /app/bin/heddle.mjs /usr/local/bin/heddle');
    expect(worker.container.args).toEqual(['heddle', 'worker']);
    expect(allCommands.has('worker')).toBe(true);
    const [, program = '', ...options] = codec.container.args;
    expect(dockerfile).toContain(`COPY ${program} `);
    for (const option of options) expect(read(program)).toContain(/^--([a-z-]+)=/.exec(option)?.[1]);
    // The user `node` of Node's images.
    expect(dockerfile).toContain('\nUSER node\n');
    expect(pods.map(({ spec }) => spec.securityContext.runAsUser)).toEqual([1000, 1000]);
  });

  test('have an image with the libraries and templates of plugins in other languages', () => {
    const [, image = ''] = dockerfile.split(' AS worker\n');
    for (const path of [relative(root, sdkFolder), 'examples/plugins'])
      expect(image.split('\nFROM ')[0]).toContain(`\nCOPY ${path} ${path}\n`);
  });

  test('have an image whose build is sent all that it copies', () => {
    const sent = read('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    const copied = [...dockerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)].flatMap(([, words = '']) =>
      words.split(' '),
    );
    expect(new Set(copied)).toEqual(new Set(sent));
  });

  test('probe and permit the ports on which the programs listen', () => {
    const portOf = ({ ports }: Container, name = ''): number | undefined =>
      ports.find((port) => port.name === name)?.containerPort;
    const metrics = worker.container.env?.find(({ name }) => name === 'HEDDLE_METRICS')?.value;
    const { livenessProbe, readinessProbe } = worker.container;
    for (const { httpGet } of [livenessProbe, readinessProbe]) {
      expect(httpGet?.path).toBe('/metrics');
      expect(metrics).toBe(`0.0.0.0:${portOf(worker.container, httpGet?.port)}`);
    }
    expect(codec.container.args).toContain(
      `--port=${portOf(codec.container, codec.container.livenessProbe.tcpSocket?.port)}`,
    );
    for (const { container, metadata } of pods) {
      const policy = resources.find(
        ({ kind, spec }) =>
          kind === 'NetworkPolicy' && matches(spec.podSelector?.matchLabels ?? {}, metadata.labels),
      );
      expect(policy?.spec.ingress?.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(
        container.ports.map(({ containerPort }) => containerPort),
      );
    }
  });

  test('replace the next worker only after the last one has run for longer than a failed start', () => {
    const stateful = resources.find(({ kind }) => kind === 'StatefulSet');
    expect(stateful?.spec.minReadySeconds).toBeGreaterThanOrEqual(60);
  });

  test('select pods that exist', () => {
    const selectors = resources.flatMap(({ kind, spec }) =>
      ['Service', 'PodDisruptionBudget', 'NetworkPolicy', 'StatefulSet', 'Deployment'].includes(kind)
        ? [spec.podSelector?.matchLabels ?? spec.selector?.matchLabels ?? spec.selector ?? {}]
        : [],
    );
    expect(selectors).toHaveLength(7);
    for (const selector of selectors)
      expect(pods.filter(({ metadata }) => matches(selector as Labels, metadata.labels))).toHaveLength(1);
  });

  test('refer to generated ConfigMaps, to Secrets that the guide creates, and to declared volumes', () => {
    const maps = kustomization.configMapGenerator.map(({ name }) => name);
    const from = pods.flatMap(({ container }) => container.envFrom);
    const volumes = worker.spec.volumes ?? [];
    const usedMaps = [
      ...from.flatMap(({ configMapRef }) => configMapRef?.name ?? []),
      ...volumes.flatMap(({ configMap }) => configMap?.name ?? []),
    ];
    expect(new Set(usedMaps)).toEqual(new Set(maps));
    const secrets = [
      ...from.flatMap(({ secretRef }) => secretRef?.name ?? []),
      ...volumes.flatMap(({ secret }) => secret?.secretName ?? []),
    ];
    expect(new Set(secrets).size).toBe(3);
    for (const secret of secrets) expect(page).toContain(`create secret generic ${secret} `);
    const claims = resources.flatMap(({ spec }) => spec?.volumeClaimTemplates ?? []);
    const names = [...volumes.map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)];
    expect(worker.container.volumeMounts?.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  test('give the worker a configuration that passes the checks at its start', async () => {
    const variables = Object.fromEntries(
      (worker.container.env ?? []).map(({ name, value }) => [name, value]),
    );
    const mounts = worker.container.volumeMounts?.map(({ mountPath }) => mountPath) ?? [];
    const isMounted = (path = ''): boolean => mounts.some((mount) => path.startsWith(`${mount}/`));
    const [files = []] = kustomization.configMapGenerator.flatMap((one) => [one.files ?? []]);
    expect(variables['HEDDLE_CONFIG']).toBe(`/etc/heddle/${files[0]}`);
    for (const name of ['HEDDLE_CONFIG', 'HEDDLE_DATA_FOLDER', 'HEDDLE_CACHE_FOLDER'])
      expect(isMounted(variables[name])).toBe(true);
    const text = read('deploy/kubernetes/heddle.yaml');
    expect(/keyFile: (\S+)/.exec(text)?.[1]).toSatisfy(isMounted);
    const home = newFolder();
    const file = join(home, 'heddle.yaml');
    writeFileSync(file, text);
    const config = loadConfig({ configFlag: file, env: { PATH: '/usr/bin:/bin', HOME: home } });
    const registry = await loadRegistry({ folders: config.plugins, log: { info: () => undefined } });
    try {
      expect(Object.keys(checkConfiguration(registry, config).providers)).toEqual(['rack']);
    } finally {
      await registry.close();
    }
    expect(existsSync(variables['HEDDLE_DATA_FOLDER'] ?? '')).toBe(false);
  });

  test('pass the restricted standard of pod security', () => {
    for (const { container, spec } of pods) {
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });
});

function matches(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
