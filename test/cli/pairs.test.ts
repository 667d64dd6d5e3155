import { describe, expect, it } from 'vitest';
import { labelIntent } from '../../src/cli/machine/intents.js';
import { pairParser } from '../../src/cli/pairs.js';
import { createProgram } from '../../src/cli/program.js';

const parse = (...texts: readonly string[]): unknown =>
  texts.reduce<ReturnType<ReturnType<typeof pairParser>> | undefined>(
    (before, text) => pairParser('--field')(text, before),
    undefined,
  );

describe('an option NAME=VALUE', () => {
  it('has names and values in their order; a value may contain = and blanks', () => {
    expect(parse('b=1', ' a = x=y ')).toEqual([
      ['b', '1'],
      ['a', ' x=y '],
    ]);
  });

  it.each([
    ['without a name', ['=hunter2'], '--field: It must be NAME=VALUE.'],
    ['without a value', ['hunter2'], '--field: It must be NAME=VALUE.'],
    ['given twice', ['a=hunter2', 'a=hunter2'], '--field: a is given twice. Give it once.'],
    ['__proto__', ['__proto__=hunter2'], '--field: __proto__ is a reserved name. Use another one.'],
    ['constructor', ['constructor=hunter2'], '--field: constructor is a reserved name. Use another one.'],
    ['prototype', [' prototype =hunter2'], '--field: prototype is a reserved name. Use another one.'],
  ])('is refused %s, and its value is not quoted', (_what, texts, message) => {
    expect(() => parse(...texts)).toThrow(expect.objectContaining({ message, exitCode: 2 }));
  });

  it.each([
    ['machine', 'add', 'm', '--provider', 'p', '--field', 'a=1', '--field', 'a=2'],
    ['machine', 'move', 'm', '--provider', 'p', '--field', 'a=1', '--field', 'a=2'],
    ['provider', 'add', 'p', '--type', 'docker', '--field', 'a=1', '--field', 'a=2'],
    ['apply', 'web.yaml', '--var', 'a=1', '--var', 'a=2'],
    ['plan', 'web.yaml', '--var', 'a=1', '--var', 'a=2'],
    ['list', '--label', 'a=1', '--label', 'a=2'],
  ])('%s %s refuses a repeated name before it does anything', async (...words) => {
    const program = createProgram(() => Promise.reject(new Error('it began')));
    await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow(
      'a is given twice. Give it once.',
    );
  });
});

describe('labels of a command line', () => {
  it('each have one value, or are removed', () => {
    expect(labelIntent(['a=1', 'b-'])).toEqual({ kind: 'label', labels: { a: '1' }, remove: ['b'] });
    expect(() => labelIntent(['a=1', 'a=2'])).toThrow('label a is given twice. Give it once.');
    expect(() => labelIntent(['a=1', 'a-'])).toThrow('label a is given twice. Give it once.');
  });

  it.each(['constructor', 'prototype', '__proto__'])('do not have the key %s', (key) => {
    expect(() => labelIntent([`${key}=1`])).toThrow('is neither KEY=VALUE nor KEY-');
  });
});
