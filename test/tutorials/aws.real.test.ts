import { afterAll, beforeAll } from 'vitest';
import { testTutorial } from '../harness/docs/tutorial.js';
import { startEc2, type Ec2Front } from '../plugins/providers/aws/support/front.js';
import { motoIsMissing } from '../plugins/providers/aws/support/moto.js';

let ec2: Ec2Front | undefined;
beforeAll(async () => {
  if (motoIsMissing() === undefined) ec2 = await startEc2();
});
afterAll(() => ec2?.close());

testTutorial('aws', (): Readonly<Record<string, string>> => {
  if (ec2 === undefined) return {};
  return {
    EC2_ENDPOINT: ec2.endpoint,
    EC2_SSH_PORT: String(ec2.sshPort),
    EC2_IMAGE: 'ami-1e749f67',
    AWS_ACCESS_KEY_ID: ec2.accessKeyId,
    AWS_SECRET_ACCESS_KEY: 'not-looked-at',
  };
});
