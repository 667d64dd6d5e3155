import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../src/config/index.js';
import { otherOwnerOf, refuseForeignSettings } from '../../src/config/own-files.js';
import { configSchema } from '../../src/schema/config.js';
import { prepareWorkers } from '../../src/worker/worker.js';
import { pretendForeign } from '../harness/foreign.js';
import { newFolder } from '../harness/folder.js';

/** Settings that name files of this host: the value that names `path`, and the place in messages. */
const naming: Readonly<Record<string, (path: string) => unknown>> = {
  dataFolder: (path) => path,
  cacheFolder: (path) => path,
  'plugins.*': (path) => path,
  'keys.folder': (path) => path,
  'store.folder': (path) => path,
  'builder.folder': (path) => path,
  'builder.commands.*.run.*': (path) => path,
  'reservations.notify.command.*': (path) => path,
  'providers.*.jump.agent': (path) => path,
};

/**
 * Settings with texts that name no file. References (`secret`) are checked when they are
 * resolved, and fields of plugins by their descriptors. A new setting belongs here or above: if
 * it names files, register its schema.
 */
const others = [
  /^\$schema$/,
  /^site$/,
  /\.secret$/,
  /^(providers|automators)\.\*\.fields/,
  /^providers\.\*\.(type|site|allow|hardware|images|hostKeys)\b/,
  /^providers\.\*\.jump\.(host|user|key|password|hostKey)\b/,
  /^store\.s3\./,
  /^secrets\.(allow|environment)\.\*$/,
  /^pluginEnvironment\.\*\.\*$/,
  /^builder\.commands\.\*\.variables\.\*$/,
  /^reservations\.notify\.url$/,
  /^webhooks\.\*\.(url|events)\b/,
  /^metrics\.address$/,
  /^encryption$/,
  /\.(time|every|minimumAge|prepare|remind|longest|confirmWithin|loadWithin|progressWithin)$/,
];

type Schema = {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
};

/** Places of all settings that may be a text, by the schema. */
function textsIn(schema: Schema, path: readonly string[] = []): readonly string[] {
  const { type, properties = {}, additionalProperties, items, anyOf = [], $ref } = schema;
  return [
    ...(type === 'string' || $ref !== undefined || Object.keys(schema).length === 0 ? [path.join('.')] : []),
    ...Object.entries(properties).flatMap(([key, inner]) => textsIn(inner, [...path, key])),
    ...(typeof additionalProperties === 'object' ? textsIn(additionalProperties, [...path, '*']) : []),
    ...(items === undefined ? [] : textsIn(items, [...path, '*'])),
    ...anyOf.flatMap((inner) => textsIn(inner, path)),
  ];
}

const lists: readonly string[] = ['plugins', 'run', 'command'];

/** The smallest heddle.yaml with a value at a place. */
function configWith(place: string, value: unknown): unknown {
  const filled = place.split('.').reduceRight<unknown>((inner, key, index, keys) => {
    if (key !== '*') return { [key]: inner };
    return lists.includes(keys[index - 1] ?? '') ? [inner] : { one: inner };
  }, value);
  if (!place.startsWith('providers.')) return filled;
  const { providers } = filled as { readonly providers: { readonly one: { readonly jump: object } } };
  const jump = { ...providers.one.jump, host: 'jump', user: 'heddle', hostKey: 'ssh-ed25519 AAAA' };
  return { providers: { one: { type: 'static', jump } } };
}

describe('files that heddle.yaml names', () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder();
  });

  const load = (place: string, path: string): unknown => {
    const file = join(folder, 'heddle.yaml');
    writeFileSync(file, stringify(configWith(place, naming[place]?.(path))));
    return refuseForeignSettings(loadConfig({ configFlag: file, env: { HOME: folder } }));
  };

  it('every setting with text names a file, except for a known list', () => {
    const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
    const texts = [...new Set(textsIn(schema))];
    expect(texts.length).toBeGreaterThan(30);
    expect(texts.filter((place) => !others.some((other) => other.test(place))).toSorted()).toEqual(
      Object.keys(naming).toSorted(),
    );
  });

  // Promise: foreign-files
  it.each(Object.keys(naming))('are refused if another user owns them: %s', (place) => {
    const path = join(folder, 'named');
    mkdirSync(path, { mode: 0o700 });
    expect(() => load(place, path)).not.toThrow();
    const restore = pretendForeign(path);
    try {
      // Only processes that use the files are concerned: other users read the configuration.
      const config = loadConfig({ configFlag: join(folder, 'heddle.yaml'), env: { HOME: folder } });
      expect(() => refuseForeignSettings(config)).toThrow(
        new RegExp(`heddle\\.yaml:\\d+:\\d+: .*${path} belongs to user \\d+, neither to user`),
      );
    } finally {
      restore();
    }
  });

  it.each([undefined, 'builder'] as const)(
    'are refused by each worker when it starts, before anything else: role %s',
    async (role) => {
      const program = join(folder, 'notify');
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o777 });
      chmodSync(program, 0o777);
      const file = join(folder, 'heddle.yaml');
      const notify = { command: [program] };
      writeFileSync(file, stringify({ dataFolder: join(folder, 'data'), reservations: { notify } }));
      const config = loadConfig({ configFlag: file, env: { HOME: folder, TEMPORAL_ADDRESS: '127.0.0.1:1' } });
      await expect(
        prepareWorkers({
          config,
          keyRing: undefined as never,
          log: undefined as never,
          secretSources: { environment: {} },
          ...(role === undefined ? {} : { role }),
        }),
      ).rejects.toThrow(`${program} may be written by other users (mode 777)`);
      expect(existsSync(join(folder, 'data'))).toBe(false);
    },
  );

  it.each(Object.keys(naming))('are refused if others may write or replace them: %s', (place) => {
    const path = join(folder, 'shared/named');
    mkdirSync(path, { recursive: true, mode: 0o700 });
    expect(() => load(place, path)).not.toThrow();
    chmodSync(dirname(path), 0o777);
    expect(() => load(place, path)).toThrow(
      `${dirname(path)} may be written by other users (mode 777). chmod go-w '${dirname(path)}'`,
    );
    chmodSync(dirname(path), 0o700);
    chmodSync(path, 0o707);
    expect(() => load(place, path)).toThrow(`${path} may be written by other users (mode 707)`);
  });

  it('include each file among the words of a command', () => {
    const script = join(folder, 'script.py');
    writeFileSync(script, '');
    chmodSync(script, 0o666);
    const loadWords = (...words: readonly string[]): unknown => {
      const file = join(folder, 'heddle.yaml');
      writeFileSync(file, stringify({ reservations: { notify: { command: words } } }));
      return refuseForeignSettings(loadConfig({ configFlag: file, env: { HOME: folder } }));
    };
    for (const words of [
      ['/bin/sh', script],
      ['python3', `--script=${script}`],
      ['python3', relative(process.cwd(), script)],
      [relative(process.cwd(), script)],
    ])
      expect(() => loadWords(...words)).toThrow(`${script} may be written by other users`);
    expect(() => loadWords('/bin/sh', '-c', 'true', '/tmp', '/dev/null')).not.toThrow();
  });

  it('a file is not checked if a variable replaces its setting', () => {
    const path = join(folder, 'named');
    mkdirSync(path);
    chmodSync(path, 0o777);
    for (const [place, variable] of [
      ['dataFolder', 'HEDDLE_DATA_FOLDER'],
      ['cacheFolder', 'HEDDLE_CACHE_FOLDER'],
      ['keys.folder', 'HEDDLE_KEYS'],
    ] as const) {
      expect(() => load(place, path)).toThrow(`${path} may be written`);
      const env = { HOME: folder, [variable]: join(folder, 'other') };
      const config = loadConfig({ configFlag: join(folder, 'heddle.yaml'), env });
      expect(() => refuseForeignSettings(config), place).not.toThrow();
    }
  });

  it.each(['dataFolder', 'store.folder', 'keys.folder', 'builder.folder'])(
    'are not to be given away if Heddle makes them: %s',
    (place) => {
      const path = join(folder, 'named');
      mkdirSync(path, { mode: 0o700 });
      const restore = pretendForeign(path);
      try {
        expect(() => load(place, path)).toThrow(/Specify another folder, or run as user \d+/);
        expect(() => load(place, path)).not.toThrow(/chown/);
      } finally {
        restore();
      }
    },
  );

  it('only files of plugins that Heddle reads must be changed', () => {
    const path = join(folder, 'named');
    mkdirSync(path, { mode: 0o700 });
    const restore = pretendForeign(path);
    try {
      expect(() => load('plugins.*', path)).toThrow(/If you trust it: chown/);
    } finally {
      restore();
    }
  });

  it('tell the user of the workers by the data folder', () => {
    const dataFolder = join(folder, 'data');
    expect(otherOwnerOf(dataFolder)).toBeUndefined();
    mkdirSync(dataFolder);
    expect(otherOwnerOf(dataFolder)).toBeUndefined();
    const restore = pretendForeign(dataFolder);
    expect(otherOwnerOf(dataFolder)).toBe(statSync(dataFolder).uid);
    restore();
  });

  it.each(Object.keys(naming).filter((place) => place !== 'plugins.*'))(
    'may be absent, except in a folder that others may change: %s',
    (place) => {
      const shared = join(folder, 'shared');
      mkdirSync(shared);
      const path = join(shared, 'below/absent');
      expect(() => load(place, path)).not.toThrow();
      chmodSync(shared, 0o1777);
      expect(() => load(place, path)).not.toThrow();
      chmodSync(shared, 0o777);
      expect(() => load(place, path)).toThrow(`${shared} may be written by other users`);
    },
  );
});
