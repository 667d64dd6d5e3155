import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.js';
import { isPlainSecret, parseFieldText, plainSecretWithin } from '../../../src/cli/account/field-text.js';
import { hideSecrets } from '../../../src/cli/account/field-words.js';
import type { FieldDeclaration, FieldType } from '../../../src/schema/descriptor-field.js';

const field = (type: FieldType, more: Partial<FieldDeclaration> = {}): FieldDeclaration => ({
  title: 'A field',
  type,
  ...more,
});

describe('the typed text of a field', () => {
  it.each<[FieldType, string, unknown]>([
    ['string', ' http://127.0.0.1:7300 ', 'http://127.0.0.1:7300'],
    ['string', 'unix:///run/x.sock', 'unix:///run/x.sock'],
    ['string', 'env:NAME', { secret: 'env:NAME' }],
    ['text', '{secret: "file:/etc/key"}', { secret: 'file:/etc/key' }],
    ['text', 'a\nb\n', 'a\nb\n'],
    ['integer', '22', 22],
    ['integer', '22x', '22x'],
    ['number', '-1.5', -1.5],
    ['duration', '30s', '30s'],
    ['duration', '1500', 1500],
    ['boolean', 'Yes', true],
    ['boolean', 'false', false],
    ['boolean', 'maybe', 'maybe'],
    ['list', 'a, b,,c', ['a', 'b', 'c']],
    ['list', 'ssh-ed25519 AAAA me,you\nssh-rsa BBBB', ['ssh-ed25519 AAAA me,you', 'ssh-rsa BBBB']],
    ['list', '[{name: r1, port: 22}]', [{ name: 'r1', port: 22 }]],
    ['list', '[a', '[a'],
    ['map', '{a: 1}', { a: 1 }],
    ['json', 'true', true],
    ['select', 'env:A', 'env:A'],
    ['string', '   ', undefined],
  ])('%s %j gives %j', (type, text, value) => {
    expect(parseFieldText(field(type), text)).toEqual(value);
  });

  it('keeps the blanks of a secret', () => {
    expect(parseFieldText(field('string', { secret: true }), ' a b ')).toBe(' a b ');
  });

  it('is a secret if the plugin says so or if it is a private key; a reference is not', () => {
    const key = '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n';
    expect(isPlainSecret(field('string', { secret: true }), 'x')).toBe(true);
    expect(isPlainSecret(field('text'), key)).toBe(true);
    expect(isPlainSecret(field('text'), 'ssh-ed25519 AAAA')).toBe(false);
    expect(isPlainSecret(field('string', { secret: true }), { secret: 'env:X' })).toBe(false);
  });

  it.each([
    ['https://me:hunter2@host/x', true],
    ['https://TOKEN@host', true],
    ['qemu+ssh://root:hunter2@host/system', true],
    ['qemu+ssh://root@host/system', false],
    ['https://host/x?mail=a@b', false],
    ['me@host', false],
  ])('the address %s is a secret: %s', (address, isSecret) => {
    expect(isPlainSecret(field('url'), address)).toBe(isSecret);
    const fields = { admin: { url: field('url') }, user: {}, required: { admin: [], user: [] } };
    const shown = { url: address, urls: [address] };
    expect(
      hideSecrets({ fields: { ...fields, admin: { url: field('url'), urls: field('list') } } }, shown),
    ).toEqual(
      isSecret
        ? {
            url: expect.stringContaining('://(secret)@host'),
            urls: [expect.stringContaining('://(secret)@host')],
          }
        : shown,
    );
  });

  it.each<[FieldType, unknown, readonly (string | number)[] | undefined]>([
    ['map', { a: { user: 'u', password: 'hunter2' } }, ['a', 'password']],
    ['map', { a: { password: 12345 } }, ['a', 'password']],
    ['map', { credentials: { id: { secret: 'env:ID' }, value: ['x'] } }, ['credentials', 'value', 0]],
    ['list', [{ name: 'a' }, { apiToken: 'x' }], [1, 'apiToken']],
    ['list', [{ key: 'x' }], [0, 'key']],
    ['list', ['https://me:hunter2@host'], [0]],
    ['json', '-----BEGIN PRIVATE KEY-----', []],
    ['map', { a: { password: { secret: 'env:PASSWORD' }, host: 'h', insecure: true } }, undefined],
    ['map', { a: { secretary: false } }, undefined],
  ])('of type %s with %j has a plain secret at %j', (type, value, place) => {
    expect(plainSecretWithin(field(type, { passReferences: true }), value as Json)).toEqual(place);
  });

  it('is hidden unless the plugin declares that it is not secret', () => {
    const fields = {
      admin: { url: field('string'), pin: field('string', { secret: true }) },
      user: {},
      required: { admin: [], user: [] },
    };
    expect(
      hideSecrets({ name: 'a', type: 'provider', fields } as never, { url: 'u', pin: 'p', other: 'o' }),
    ).toEqual({ url: 'u', pin: '(secret)', other: '(secret)' });
    expect(hideSecrets(undefined, { url: 'u' })).toEqual({ url: '(secret)' });
  });
});
