import { describe, expect, it } from 'vitest';
import {
  addTaint,
  isTainted,
  longestRecord,
  parseCurrentImage,
  postLoadOf,
  revisionOf,
  setTag,
  tags,
  taintReasons,
  writeCurrentImage,
  type CurrentImage,
} from '../../../src/model/machine/current-image.js';
import { fc } from '../../harness/property.js';

const written = writeCurrentImage({
  name: 'rh7-base',
  id: '42',
  prettyName: 'RH 7 = base',
  revision: '117',
  createdAt: '2026-01-02 03:04:05',
  machineId: '9',
  hostname: 'blade-9',
});
const parse = (text: string): CurrentImage => parseCurrentImage(text) ?? { name: 'nothing', values: {} };

describe('currentimage.txt', () => {
  it('is written in the format of older systems: name, keys in their order, no tags', () => {
    expect(written).toBe(
      [
        'rh7-base',
        'id=42',
        'prettyname=RH 7 = base',
        'imagerevision_id=117',
        'imagerevision_datecreated=2026-01-02 03:04:05',
        'computer_id=9',
        'computer_hostname=blade-9',
        '',
      ].join('\n'),
    );
  });

  it.each([
    ['that ends with a line break', written],
    ['of older systems, without a line break at its end', written.trimEnd()],
    ['of older systems whose last line is a tag', `${written}${tags.postLoad}=success (Mon)`],
    ['that is only a name', 'rh7-base'],
  ])('keeps a taint that another program appends to a record %s', (_, record) => {
    const tainted = parse(`${record}${tags.tainted}=user ada (Tue)\n`);
    expect(isTainted(tainted)).toBe(true);
    expect(taintReasons(tainted)).toEqual(['user ada']);
    expect(tainted.name).toBe('rh7-base');
  });

  it.each<readonly [what: string, text: string, name: string, revision: string | undefined]>([
    ['what was written', written, 'rh7-base', '117'],
    ['lines that end in CRLF', written.replaceAll('\n', '\r\n'), 'rh7-base', '117'],
    ['lines that end in CR', written.replaceAll('\n', '\r'), 'rh7-base', '117'],
    ['blank lines and blanks', `\n\n  rh7-base \n\n imagerevision_id = 117 \n`, 'rh7-base', '117'],
    ['no name in the first line', 'imagerevision_id=117', '', '117'],
    ['a key twice: the first counts', 'x\nimagerevision_id=1\nimagerevision_id=2', 'x', '1'],
    ['an empty revision', 'x\nimagerevision_id=', 'x', undefined],
    ['lines without a key', 'x\nsomething else\n=\n=5\nimagerevision_id=3', 'x', '3'],
    ['control characters', 'x\u0000\u001b[31m\nimagerevision_id=3\u0007', 'x[31m', '3'],
    ['keys of the language', 'x\n__proto__=1\nconstructor=2\nimagerevision_id=3', 'x', '3'],
    ['a megabyte of junk behind it', `x\nimagerevision_id=3\n${'junk\n'.repeat(220_000)}`, 'x', '3'],
    ['a megabyte of junk before it', `x\n${'junk\n'.repeat(220_000)}imagerevision_id=3`, 'x', undefined],
  ])('reads %s', (_, text, name, revision) => {
    expect(parse(text).name).toBe(name);
    expect(revisionOf(parse(text))).toBe(revision);
  });

  it.each([
    ['nothing', ''],
    ['blank lines', '\r\n \n\t\n'],
  ])('%s is not a record', (_, text) => {
    expect(parseCurrentImage(text)).toBeUndefined();
  });

  it('keeps values that contain =', () => {
    expect(parse(written).values['prettyname']).toBe('RH 7 = base');
  });

  it('a tag replaces its earlier lines, is last, and is found with its time', () => {
    const once = setTag(`${written}\r\n\r\n`, tags.postLoad, 'success', 'Mon Jan 5 10:00:00 2026');
    const twice = setTag(once, tags.postLoad, 'success', 'Tue Jan 6 10:00:00 2026');
    expect(twice.split('\n').filter((line) => line.startsWith(tags.postLoad))).toEqual([
      `${tags.postLoad}=success (Tue Jan 6 10:00:00 2026)`,
    ]);
    expect(twice.endsWith(')\n')).toBe(true);
    expect(postLoadOf(parse(twice))).toBe('success (Tue Jan 6 10:00:00 2026)');
    expect(revisionOf(parse(twice))).toBe('117');
  });

  it('reasons of a taint accumulate, each once', () => {
    const first = addTaint(written, 'user ada', 'T1');
    const second = addTaint(addTaint(first, 'user bob, too', 'T2'), 'user ada', 'T3');
    expect(taintReasons(parse(second))).toEqual(['user ada', 'user bob; too']);
    expect(second.trimEnd().split('\n').at(-1)).toBe(`${tags.tainted}=user ada, user bob; too (T3)`);
    expect(isTainted(parse(written))).toBe(false);
  });

  it('a taint without a reason counts', () => {
    expect(isTainted(parse(`${written}\n${tags.tainted}=`))).toBe(true);
    expect(taintReasons(parse(`${written}\n${tags.tainted}=`))).toEqual([]);
  });

  it('accepts any text: it never throws, tags can be added, and a taint is found afterwards', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ maxLength: 400 }), fc.string({ unit: 'binary', maxLength: 200 })),
        fc.string({ maxLength: 40 }),
        (text, reason) => {
          const tainted = parse(addTaint(text, reason, '2026'));
          expect(isTainted(tainted)).toBe(true);
          expect(revisionOf(tainted)).toBe(revisionOf(parse(text)));
        },
      ),
    );
  });

  it('a taint is found after text of any length', () => {
    expect(isTainted(parse(addTaint('x'.repeat(longestRecord * 3), 'r', 'now')))).toBe(true);
    expect(isTainted(parse(addTaint(`x\n${'y=1\n'.repeat(100_000)}`, 'r', 'now')))).toBe(true);
  });
});
