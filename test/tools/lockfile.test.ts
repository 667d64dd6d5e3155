import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type Lockfile = Readonly<Record<string, LockedPackage>>;

function readLock(path: string): Lockfile {
  const text = readFileSync(join(import.meta.dirname, '..', '..', path), 'utf8');
  return (JSON.parse(text) as { readonly packages: Lockfile }).packages;
}

/** Paths of the packages that npm would install without comparing them with a digest. */
function unverified(packages: Lockfile): readonly string[] {
  return Object.entries(packages)
    .filter(
      ([path, { integrity, link }]) =>
        path !== '' && (link === true || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '')),
    )
    .map(([path]) => path);
}

/**
 * Optional packages, which are mostly those of other platforms, that the lockfile leaves out: `npm ci`
 * refuses it.
 */
function unlockedOptionals(packages: Lockfile): readonly string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        packages[`node_modules/${name}`] === undefined &&
        packages[`${path}/node_modules/${name}`] === undefined,
    ),
  );
}

describe.each([
  ['of Heddle', 'package-lock.json', 250],
  ['of the site', 'site/package-lock.json', 100],
])('the lockfile %s', (_, path, atLeast) => {
  const locked = readLock(path);

  // Promise: lockfile
  it('contains an integrity hash for every package, those of other platforms included', () => {
    expect(Object.keys(locked).length).toBeGreaterThan(atLeast);
    expect(unverified(locked)).toEqual([]);
  });

  it('contains the packages of every platform', () => {
    expect(unlockedOptionals(locked)).toEqual([]);
    expect(unlockedOptionals({ 'node_modules/a': { optionalDependencies: { b: '1' } } })).toEqual(['b']);
  });

  it('names no registry host', () => {
    expect(Object.entries(locked).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it('fails this check if a package has no hash or a weak one', () => {
    const planted: Lockfile = {
      '': {},
      'node_modules/none': { version: '1.0.0' },
      'node_modules/weak': { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
    };
    expect(unverified(planted)).toEqual(['node_modules/none', 'node_modules/weak']);
  });
});
