import { describe, expect, it } from 'vitest';
import { signedHeaders } from '../../../src/activities/webhook/sign.js';

describe('a webhook message', () => {
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1_614_265_330,
    body: '{"test": 2432232314}',
  };

  it('has the signature that the reference implementations compute for it', () => {
    expect(signedHeaders('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', message)).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it.each(['', 'password', 'whsec_', 'whsec_c2hvcnQ=', `whsec_${'A'.repeat(100)}`, 'whsec_ä'.repeat(9)])(
    'is not signed with a secret of another form: %j',
    (secret) => {
      expect(signedHeaders(secret, message)).toBeUndefined();
    },
  );
});
