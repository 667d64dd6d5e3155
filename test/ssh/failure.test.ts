import { expect, it } from 'vitest';
import { jumpOrigin } from '../../src/plugins/login-references.js';
import { cannotReach, explainFailure, explainForward } from '../../src/ssh/failure.js';
import type { SshTarget } from '../../src/ssh/target.js';

const jump: SshTarget = { host: 'bastion', port: 22, user: 'hop', origin: jumpOrigin('rack') };
const place = 'of jump of provider rack in heddle.yaml';
const prohibited = Object.assign(new Error('prohibited'), { reason: 1 });
const refused = Object.assign(new Error('no method left'), { level: 'client-authentication' });

it.each([
  [
    'is down',
    cannotReach(jump, new Error('ECONNREFUSED')),
    'switch the machine on, or correct the address and port',
  ],
  ['refuses the login', explainFailure(jump, refused, undefined), 'correct the user, key or password'],
  [
    'forwards nothing',
    explainForward(jump, '10.0.0.1:22', prohibited),
    'allow forwarding to 10.0.0.1:22 in the sshd',
  ],
])('the failure of a jump host that %s names its account', (_what, error, remedy) => {
  expect(error.remedy).toBe(`${remedy} ${place}`);
});

it('a machine behind a jump host that does not answer is to be switched on', () => {
  expect(explainForward(jump, '10.0.0.1:22', new Error('timed out')).remedy).toMatch(
    /^switch on the machine at 10\.0\.0\.1:22, .* of jump of provider rack/,
  );
});
