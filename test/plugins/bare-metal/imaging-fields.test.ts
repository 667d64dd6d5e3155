import { describe, expect, it } from 'vitest';
import { mac, readImaging } from '../../../src/plugins/bare-metal/imaging/imaging-fields.js';

const fields = { images: '/srv/images', rescue: '/srv/rescue', listen: '10.0.1.5:8480' };

describe('the field imaging', () => {
  it('may be empty', () => {
    expect(readImaging({}, 'rack')).toBeUndefined();
  });

  it('waits ten minutes for a machine', () => {
    expect(readImaging(fields, 'rack')).toEqual({ ...fields, bootMinutes: 10 });
  });

  it.each<readonly [wrong: object, message: RegExp]>([
    [{ images: 'images' }, /imaging of provider rack in heddle\.yaml: images: must be an absolute path/],
    [{ listen: 'host:80' }, /listen: must be an IPv4 address and a port/],
    [{ listen: '10.0.1.5' }, /listen/],
    [{ listen: '10.0.1.256:8480' }, /listen: must be an IPv4 address and a port/],
    [{ listen: '10.0.1.5:0' }, /listen/],
    [{ listen: '10.0.1.5:65536' }, /listen/],
    [{ bootMinutes: 0 }, /bootMinutes/],
    [{ other: 1 }, /other/],
  ])('is refused with %j', (wrong, message) => {
    expect(() => readImaging({ ...fields, ...wrong }, 'rack')).toThrow(message);
  });

  it('compares addresses of interfaces in one form', () => {
    expect(mac.parse('52-54-00-AA-BB-01')).toBe('52:54:00:aa:bb:01');
    expect(mac.safeParse('52:54:00:aa:bb').success).toBe(false);
  });
});
