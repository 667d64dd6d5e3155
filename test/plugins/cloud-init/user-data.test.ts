import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeHostKey } from '../../../src/plugins/cloud-init/host-key.js';
import { makeUserData } from '../../../src/plugins/cloud-init/user-data.js';

const hostKey = makeHostKey('a secret of a test that is long enough', 'u/app-1/1');

describe('user data for cloud-init', () => {
  it('is a cloud-config with name, host key and public keys', () => {
    const text = makeUserData({ hostname: 'web-app-1', hostKey, publicKeys: ['ssh-ed25519 AAAA me'] });
    expect(text.split('\n')[0]).toBe('#cloud-config');
    expect(parse(text)).toEqual({
      hostname: 'web-app-1',
      preserve_hostname: false,
      ssh_authorized_keys: ['ssh-ed25519 AAAA me'],
      ssh_deletekeys: true,
      ssh_genkeytypes: [],
      ssh_keys: { ed25519_private: hostKey.private, ed25519_public: `${hostKey.public} heddle` },
    });
  });

  it("leaves the image's own keys unchanged without a host key", () => {
    expect(parse(makeUserData({ hostname: 'web-app-1' }))).toEqual({
      hostname: 'web-app-1',
      preserve_hostname: false,
    });
  });

  it.each([
    ['#!/bin/sh\necho hello', 'text/x-shellscript'],
    ['#cloud-config\npackages: [nginx]\n', 'text/cloud-config'],
    ['#cloud-boothook\ntrue\n', 'text/cloud-boothook'],
  ])("includes the user's own part: %j", (own, type) => {
    const text = makeUserData({ hostname: 'web-app-1', hostKey, own });
    const [, boundary = ''] = /^Content-Type: multipart\/mixed; boundary="([^"]+)"/.exec(text) ?? [];
    const parts = text.split(`--${boundary}`);
    expect(parts).toHaveLength(4);
    expect(parts[1]).toContain('#cloud-config\n{"hostname":"web-app-1"');
    expect(parts[2]).toContain(`Content-Type: ${type};`);
    expect(parts[2]).toContain(`\n\n${own}`);
    expect(makeUserData({ hostname: 'web-app-1', hostKey, own })).toBe(text);
  });

  it('refuses what cloud-init would ignore, and what clouds would refuse', () => {
    expect(() => makeUserData({ hostname: 'a', own: 'echo hello' })).toThrow(
      /userData must begin with #cloud-config, #!/,
    );
    expect(() => makeUserData({ hostname: 'a', own: `#!/bin/sh\n${'#'.repeat(16_384)}` })).toThrow(
      /has 16\d\d\d bytes.*the limit is 16384/,
    );
  });
});
