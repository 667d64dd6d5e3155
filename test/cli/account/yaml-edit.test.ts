import { describe, expect, it } from 'vitest';
import { dropEntry, putAccount, putAutomator } from '../../../src/cli/account/yaml-edit.js';

const dropAccount = (text: string, name: string): string => dropEntry(text, { section: 'providers', name });

const local = { type: 'local', fields: { endpoint: 'http://127.0.0.1:1', apiKey: { secret: 'env:KEY' } } };

const written = `# ours
site: lab
providers:
  # in the cellar
  rack:
    type: static # old
    hardware: {large: big}
    fields:
      machines:
        - {name: r1, address: 192.0.2.11}

# how much
loadsAtOnce: 3
`;

const added = `  try:
    type: local
    fields:
      endpoint: http://127.0.0.1:1
      apiKey:
        secret: env:KEY
`;

describe('heddle.yaml with a further account', () => {
  it('keeps its comments and order', () => {
    const text = putAccount(written, 'try', local);
    expect(text).toBe(written.replace('\n\n# how much', `\n${added}\n# how much`));
    expect(dropAccount(text, 'try')).toBe(written);
  });

  it('keeps the style of its indentation, braces and lists', () => {
    const other = 'plugins:\n- ./plugins\nproviders:\n  a: { type: static, fields: { inventory: x } }\n';
    expect(putAccount(other, 'b', { type: 'static', fields: { groups: ['g'] } })).toBe(
      `${other}  b:\n    type: static\n    fields:\n      groups:\n      - g\n`,
    );
  });

  it('keeps its line ends', () => {
    expect(putAccount(written.replaceAll('\n', '\r\n'), 'try', local).replaceAll('\r\n', '\n')).toBe(
      putAccount(written, 'try', local),
    );
  });

  it.each(['', '# nothing yet\n', 'providers: {}\n', 'site: lab\n'])('is written for %j', (text) => {
    const made = putAccount(text, 'try', local);
    expect(made).toContain(added);
    expect(made).toContain(text.replace('providers: {}\n', ''));
  });

  it('gets new type, site and fields of an existing account, and keeps the rest', () => {
    const text = putAccount(written, 'rack', {
      type: 'static',
      site: 'cellar',
      fields: { inventory: './r.yaml' },
    });
    expect(text).toContain(
      'type: static # old\n    hardware: {large: big}\n    fields:\n      inventory: ./r.yaml\n    site: cellar\n',
    );
    expect(text).not.toContain('192.0.2.11');
  });

  it('is refused if another setting depends on how it is written', () => {
    const shared =
      'providers:\n  a:\n    type: static\n    fields: &f {inventory: x}\n  b:\n    type: static\n    fields: *f\n';
    expect(() => dropAccount(shared, 'a')).toThrow(/heddle.yaml was not changed/);
    expect(dropAccount(shared, 'b')).toBe(
      'providers:\n  a:\n    type: static\n    fields: &f {inventory: x}\n',
    );
  });

  it('is refused if the result would be invalid', () => {
    expect(() => putAccount(written, 'Bad Name', local)).toThrow(
      /heddle.yaml was not changed.*is not a valid name/,
    );
  });
});

describe('heddle.yaml with settings of an automator', () => {
  it('keeps everything else, and is what it was without them', () => {
    const text = putAutomator(written, 'ansible', { program: '/usr/bin/ansible-playbook' });
    expect(text).toBe(
      `${written}automators:\n  ansible:\n    fields:\n      program: /usr/bin/ansible-playbook\n`,
    );
    expect(dropEntry(text, { section: 'automators', name: 'ansible' })).toBe(`${written}automators: {}\n`);
    expect(putAutomator(text, 'ansible', {})).toBe(`${written}automators:\n  ansible: {}\n`);
  });
});
