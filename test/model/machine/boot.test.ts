import { describe, expect, it } from 'vitest';
import { nodesetOf } from '../../../src/model/machine/boot.js';

describe('what a machine boots next', () => {
  it.each([
    ['no override', 'boot'],
    ['force boot from default hard-drive', 'boot'],
    ['none', 'boot'],
    ['hdd', 'boot'],
    ['disk', 'boot'],
    ['force pxe', 'image'],
    ['pxe', 'image'],
    ['UefiHttp', 'image'],
    ['force boot from cd/dvd', 'install'],
    ['force boot from floppy/primary removable media', 'install'],
    ['usb', 'install'],
    ['force boot into bios setup', 'force boot into bios setup'],
    ['biossetup', 'biossetup'],
  ])('%s is %s', (word, nodeset) => {
    expect(nodesetOf(word)).toBe(nodeset);
  });
});
