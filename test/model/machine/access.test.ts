import { describe, expect, it } from 'vitest';
import { viewOfMachine } from '../../../src/model/machine/view.js';
import {
  accessFor,
  afterRevocation,
  loginOf,
  readPublicKey,
  type Access,
} from '../../../src/model/machine/access.js';
import { refusalOf } from '../../../src/model/machine/decide.js';
import { type MachineState } from '../../../src/model/machine/state.js';
import { faultOf } from '../../../src/model/machine/request.js';

const access: Access = {
  user: 'ada',
  reservation: 'r1',
  login: 'hd-ada',
  password: 'well-kept',
  accounts: 'before',
};

function machine(part: Partial<MachineState> = {}): MachineState {
  return {
    name: 'm',
    uid: 'u',
    state: 'in use',
    history: [],
    operations: 1,
    measured: {},
    access,
    registration: { provider: 'p', flavor: 'f', image: 'i', fields: {}, system: 'linux' },
    payload: {
      ipaddress: '127.0.0.9',
      'ssh-port': 2222,
      'ssh-host-key': 'ssh-ed25519 AAAA',
      'ssh-auth': { user: 'root', password: "the machine's own" },
    },
    holder: { reservation: 'r1', user: 'ada', until: '2026-07-01T09:00:00.000Z' },
    ...part,
  };
}

describe("the name of a user's account", () => {
  it.each([
    ['ada', 'hd-ada'],
    ['Ada Lovelace', 'hd-ada-lovelace'],
    ['root', 'hd-root'],
    ['ada@example.com', 'hd-ada-example-com'],
    ['-rf /; $(reboot)', 'hd-rf-reboot'],
    ['../../etc', 'hd-etc'],
    ['Ådá', 'hd-a-da'],
    ['龍', 'hd-user'],
    ['a'.repeat(100), `hd-${'a'.repeat(29)}`],
    [`${'a'.repeat(28)} b`, `hd-${'a'.repeat(28)}`],
  ])('of %j is %s', (user, login) => {
    expect(loginOf(user)).toBe(login);
    expect(login).toMatch(/^hd-[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
    expect(login.length).toBeLessThanOrEqual(32);
  });
});

describe('a public key', () => {
  const key = `ssh-ed25519 ${'A'.repeat(68)}`;

  it('is read without its comment and line break', () => {
    expect(readPublicKey(`${key} ada@home\n`)).toBe(key);
  });

  it.each([
    ['two lines', `${key}\n${key}`],
    ['options', `command="id" ${key}`],
    ['a shell', `${key}';reboot;'`],
    ['nothing', ''],
    ['a private key', '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----'],
    ['another type', 'ssh-dss AAAA'],
  ])('is not %s', (_, text) => {
    expect(readPublicKey(text)).toBeUndefined();
    expect(faultOf({ kind: 'log in', user: 'ada', publicKey: text })).toMatch(/must be the public key/);
  });
});

describe('the public view of an account', () => {
  it("contains the login of the user for the reservation that has the machine, and nothing of the machine's own", () => {
    expect(accessFor(machine(), 'r1')).toEqual({
      address: '127.0.0.9',
      port: 2222,
      hostKey: 'ssh-ed25519 AAAA',
      login: { user: 'hd-ada', password: 'well-kept' },
    });
  });

  it.each<readonly [string, Partial<MachineState>, string | undefined]>([
    ['another reservation', {}, 'r2'],
    ['an administrator', {}, undefined],
    ['anyone before log-in', { state: 'reserved' }, 'r1'],
    ['anyone after the revocation', { access: { ...access, changed: 'after' } }, 'r1'],
  ])('nothing to %s', (_, part, reservation) => {
    expect(accessFor(machine(part), reservation)).toBeNull();
  });

  it('contains no login for a resource without logins', () => {
    const { access: _access, ...resource } = machine({ payload: {} });
    expect(accessFor(resource, 'r1')).toEqual({ address: null, port: null, hostKey: null });
  });

  it('is absent from the public view of a machine', () => {
    expect(JSON.stringify(viewOfMachine(machine()))).not.toMatch(/well-kept|the machine's own/);
  });
});

describe("a machine whose user's account could not be checked", () => {
  it.each<readonly [string, Access, string | undefined, Access | undefined]>([
    ['is free of it where its own accounts are as before', access, 'before', undefined],
    [
      'is free of it where the account was never created',
      { user: 'ada', login: 'hd-ada', password: 'x' },
      'any',
      undefined,
    ],
    ['is free of it where it has no accounts', access, undefined, undefined],
    [
      'is to be replaced where its own accounts changed, and the password is forgotten',
      access,
      'after',
      { user: 'ada', reservation: 'r1', login: 'hd-ada', accounts: 'before', changed: 'after' },
    ],
  ])('%s', (_, before, found, left) => {
    expect(afterRevocation(before, found)).toEqual(left);
  });

  it('is not moved to another account before the account is removed', () => {
    expect(
      refusalOf(machine({ state: 'maintenance' }), { kind: 'move', to: { provider: 'q' } }, 'r1'),
    ).toMatch(/account of ada on machine m was not revoked/);
  });
});
