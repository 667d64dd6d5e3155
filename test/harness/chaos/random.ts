import { randomInt } from 'node:crypto';
import { loadConfig } from '../../../src/config/index.js';

/** Decisions that are the same for the same seed. */
export interface Random {
  /** At least `from`, less than `to`. */
  between(from: number, to: number): number;
  /** A whole number, both ends included. */
  whole(from: number, to: number): number;
  pick<Value>(values: readonly Value[]): Value;
  shuffled<Value>(values: readonly Value[]): readonly Value[];
  /** Decisions of their own: how many one part makes does not change those of another. */
  fork(name: string): Random;
}

/** HEDDLE_SEED, else what is given, else one by chance. */
export function seedOf(fallback: number = randomInt(1_000_000)): number {
  return settingOf('HEDDLE_SEED', fallback);
}

/** A whole number from the environment. */
export function settingOf(name: string, fallback: number): number {
  const written = loadConfig({ cwd: '/' }).environment[name];
  if (written === undefined || written === '') return fallback;
  if (!/^\d{1,9}$/.test(written)) throw new Error(`${name} is "${written}"; it must be a whole number`);
  return Number(written);
}

export function openRandom(seed: number | string): Random {
  const next = generator(digest(String(seed)));
  const between = (from: number, to: number): number => from + next() * (to - from);
  const whole = (from: number, to: number): number => Math.floor(between(from, to + 1));
  return {
    between,
    whole,
    pick: (values) => {
      if (values.length === 0) throw new Error('nothing to pick from');
      return values[whole(0, values.length - 1)] as (typeof values)[number];
    },
    shuffled: (values) =>
      values
        .map((value) => ({ value, place: next() }))
        .toSorted((a, b) => a.place - b.place)
        .map(({ value }) => value),
    fork: (name) => openRandom(`${seed}/${name}`),
  };
}

/** FNV-1a. */
function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}

/** Mulberry32. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
