import { describe, expect, it } from 'vitest';
import { readTarget } from '../../src/cli/login.js';

const key = 'ssh-ed25519 AAAA';
const payload = { ipaddress: '10.0.0.7', 'ssh-host-key': key };
const auth = { user: 'root', key: 'PRIVATE' };

describe('the route to a node for heddle ssh', () => {
  it('goes through the jump host of the account', () => {
    const jump = {
      host: 'bastion',
      port: 2222,
      user: 'hop',
      agent: '/run/agent',
      hostKey: [key, 'ssh-rsa BBBB'],
    };
    expect(readTarget('app-1', { payload, auth, jump })).toEqual({
      host: '10.0.0.7',
      port: 22,
      user: 'root',
      privateKey: 'PRIVATE',
      hostKey: [key],
      jump: { host: 'bastion', port: 2222, user: 'hop', agent: '/run/agent', hostKey: [key, 'ssh-rsa BBBB'] },
    });
  });

  it.each([
    ['an address', { 'ssh-host-key': key }, auth, 'is unknown until its CONFIRM is done'],
    ['a host key', { ipaddress: '10.0.0.7' }, auth, 'is unknown until its CONFIRM is done'],
    ['a user', payload, {}, 'is unknown until its CONFIRM is done'],
  ])('is unknown without %s', (_what, known, login, words) => {
    expect(() => readTarget('app-1', { payload: known, auth: login })).toThrow(words);
  });

  it("requires the jump host's own key: no key is pinned there", () => {
    expect(() => readTarget('app-1', { payload, auth, jump: { host: 'bastion', user: 'hop' } })).toThrow(
      'needs host, user and hostKey',
    );
  });
});
