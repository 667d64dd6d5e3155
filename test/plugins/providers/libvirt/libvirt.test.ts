import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import { domainXml, volumesOf, withVolumes } from '../../../../src/plugins/providers/libvirt/domain.js';
import type { LibvirtFields } from '../../../../src/plugins/providers/libvirt/field-types.js';
import { conflictsOf, readFlavor } from '../../../../src/plugins/providers/libvirt/fields.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { identify, isLostLog, isVolumeOf } from '../../../../src/plugins/providers/libvirt/identity.js';
import { readAddresses } from '../../../../src/plugins/providers/libvirt/machines.js';
import { elementsAt, parseXml, textAt, writeXml } from '../../../../src/plugins/providers/libvirt/xml.js';
import { machine, provider } from './support/account.js';

const readFields = (fields: JsonObject) => fieldsOf<LibvirtFields>('libvirt', fields, conflictsOf);

describe('provider libvirt', () => {
  test('always gives a key the same name, id and interface, and another key others', () => {
    expect(identify('u/app-1/1')).toEqual(identify('u/app-1/1'));
    expect(identify('u/app-1/1')).toMatchObject({
      name: expect.stringMatching(/^heddle-[0-9a-f]{32}$/),
      uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      mac: expect.stringMatching(/^52:54(:[0-9a-f]{2}){4}$/),
    });
    for (const part of ['name', 'uuid', 'mac'] as const)
      expect(identify('u/app-1/2')[part]).not.toBe(identify('u/app-1/1')[part]);
  });

  test('an earlier part of a console is lost if the console itself is gone', () => {
    const { log } = identify('u/app-1/1');
    const other = identify('u/app-2/1').log;
    const volumes = [log, `${log}.0`, `${other}.0`, `${other}.1`, 'mine-console.log.0', `${other}.old`];
    expect(volumes.filter((name) => isLostLog(name, volumes))).toEqual([`${other}.0`, `${other}.1`]);
  });

  test('escapes values in XML', () => {
    const odd = '<a b="c" d=\'e\'>&amp;\n\t ü';
    const input = machine({ tags: { odd } });
    const xml = domainXml({
      identity: identify(input.key),
      input,
      fields: readFields({}),
      size: readFlavor('2x1g'),
      createdAt: '2026-01-01T00:00:00.000Z',
    });
    const tags = elementsAt(parseXml(xml.trim()), 'metadata', 'heddle:machine', 'heddle:tag').map(
      ({ attributes }) => attributes,
    );
    expect(tags).toEqual([
      { name: 'odd', value: odd },
      { name: 'heddle-key', value: input.key },
    ]);
    expect(xml).toContain("<memory unit='MiB'>1024</memory>");
  });

  test('switches a domain to the volumes of a load, and changes nothing else', () => {
    const odd = '<a b="c" d=\'e\'>&amp;\n\t ü';
    const input = machine({ tags: { odd }, hostname: odd });
    const [before, after] = [identify(input.key), identify(input.key, 'some token')];
    const domain = parseXml(
      domainXml({
        identity: before,
        input,
        fields: readFields({}),
        size: readFlavor('2x1g'),
        createdAt: '2026-01-01T00:00:00.000Z',
      }).trim(),
    );
    expect(volumesOf(domain)).toEqual({ disk: before.disk, seed: before.seed });
    const switched = parseXml(withVolumes(domain, after, 'base@2'));
    expect(volumesOf(switched)).toEqual({ disk: after.disk, seed: after.seed });
    expect(elementsAt(switched, 'metadata', 'heddle:machine')[0]?.attributes['image']).toBe('base@2');
    expect(parseXml(withVolumes(switched, before, 'base'))).toEqual(domain);
  });

  test('recognises the volumes of a machine by their names, and no others', () => {
    const [one, other] = [identify('u/app-1/1'), identify('u/app-1/2')];
    const load = identify('u/app-1/1', 'some token');
    expect(load).toMatchObject({ name: one.name, uuid: one.uuid, mac: one.mac });
    expect(identify('u/app-1/1', 'another token').disk).not.toBe(load.disk);
    const volumes = [
      one.disk,
      one.seed,
      load.disk,
      load.seed,
      other.disk,
      `${one.name}-mine.qcow2`,
      `${one.disk}.bak`,
      'base@1',
    ];
    expect(volumes.filter((volume) => isVolumeOf(one, volume))).toEqual([
      one.disk,
      one.seed,
      load.disk,
      load.seed,
    ]);
  });

  test("reads libvirt's XML: entities, comments, raw text, empty elements", () => {
    const xml = parseXml(
      '<?xml version="1.0"?>\n<!-- <b/> -->\n<a k=\'1 &gt; &#x41;&#66;\' l="/">\n <b/><b x=""> t &amp; <![CDATA[<c>]]></b><c:d/></a>\n',
    );
    expect(xml.attributes).toEqual({ k: '1 > AB', l: '/' });
    expect(elementsAt(xml, 'b').map(({ attributes }) => attributes)).toEqual([{}, { x: '' }]);
    expect([
      textAt(xml, 'b'),
      textAt({ ...xml, children: xml.children.slice(2) }, 'b'),
      textAt(xml, 'none'),
    ]).toEqual(['', ' t & <c>', undefined]);
    expect(writeXml(parseXml(writeXml(xml)))).toBe(writeXml(xml));
  });

  test.each([
    '',
    '<html>',
    '<a><b></a></b>',
    '<a/><b/>',
    '<a',
    '<a b=c/>',
    '<a>x',
    'error: no',
    '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    '<a></a>x',
    '<a b="1/>',
    '</a>',
  ])('does not accept %j as an answer of libvirt', (text) => {
    expect(() => parseXml(text)).toThrow(expect.objectContaining({ kind: 'Retryable' }));
  });

  test.each([
    [' vnet0 52:54:00:aa:bb:cc ipv4 10.0.0.7/24', '10.0.0.7'],
    ['', undefined],
    [
      ' lo 00:00:00:00:00:00 ipv4 127.0.0.1/8\n docker0 02:42:00:00:00:01 ipv4 172.17.0.1/16\n eth0 52:54:00:aa:bb:cc ipv6 fe80::1/64\n - - ipv4 10.0.0.8/24',
      '10.0.0.8',
    ],
    [' eth0 52:54:00:AA:BB:CC ipv6 2001:db8::7/64\n eth0 52:54:00:aa:bb:cc ipv4 10.0.0.9/24', '10.0.0.9'],
    [' eth0 52:54:00:aa:bb:cc ipv6 2001:db8::7/64', '2001:db8::7'],
  ])('reads the address of its own interface from %j', (table, address) => {
    expect(readAddresses(table, ['52:54:00:aa:bb:cc'])).toBe(address);
  });

  test.each(['2x', 'x1g', '0x1g', '1x0g', '1x1t', '1x1gx0g', 'tiny'])('refuses the flavor %s', (flavor) => {
    expect(() => readFlavor(flavor)).toThrow(
      expect.objectContaining({ kind: 'Invalid', message: expect.stringContaining('flavor') }),
    );
  });

  test.each([
    [{ uri: 'nowhere' }, 'uri'],
    [{ pool: 'a b' }, 'pool'],
    [{ pool: '--all' }, 'pool'],
    [{ network: 'a;b' }, 'network'],
    [{ sshPort: 0 }, 'sshPort'],
    [{ addresses: { 'app-1': 1 } }, 'addresses.app-1'],
    [{ cloudInit: false, publicKeys: ['ssh-ed25519 A'] }, 'require cloudInit'],
  ])('refuses the fields %j', (fields, named) => {
    expect(() => readFields(fields)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(named) }),
    );
  });

  test('says what to install if virsh is missing', async () => {
    await expect(provider({ program: '/no/such/virsh' }).list({})).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('libvirt-clients'),
    });
  });
});
