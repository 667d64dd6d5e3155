import { expect, test } from 'vitest';
import { readUploaded } from '../../src/schema/machine-answer.js';

const source = { plugin: 'cloud', method: 'uploadImage' };

test("the provider's name for an uploaded image is used unchanged", () => {
  const answer = { answer: 'done', providerImage: 'projects/x/images/base 2026' };
  expect(readUploaded(answer, source)).toEqual(answer);
});

test.each(['', '--delete', 'a\nb', 'a"b', 'a\0b'])(
  'an uploaded image cannot be named %j',
  (providerImage) => {
    expect(() => readUploaded({ answer: 'done', providerImage }, source)).toThrow('providerImage');
  },
);
