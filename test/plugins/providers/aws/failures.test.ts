import { describe, expect, it } from 'vitest';
import { failureOf } from '../../../../src/plugins/providers/aws/failures.js';

/** As the SDK throws it. */
function sdkError(
  name: string,
  httpStatusCode: number | undefined,
  message = 'no reason',
  headers: Readonly<Record<string, string>> = {},
): Error {
  const error = new Error(message);
  error.name = name;
  return Object.assign(error, {
    $metadata: httpStatusCode === undefined ? {} : { httpStatusCode },
    $response: { headers },
  });
}

describe('refusals of EC2', () => {
  it.each([
    ['InsufficientInstanceCapacity', 500, 'Capacity'],
    ['InsufficientFreeAddressesInSubnet', 400, 'Capacity'],
    ['SpotMaxPriceTooLow', 400, 'Capacity'],
    ['InstanceLimitExceeded', 400, 'Quota'],
    ['VcpuLimitExceeded', 400, 'Quota'],
    ['MaxSpotInstanceCountExceeded', 400, 'Quota'],
    ['VolumeLimitExceeded', 400, 'Quota'],
    ['AuthFailure', 401, 'Auth'],
    ['UnauthorizedOperation', 403, 'Auth'],
    ['RequestExpired', 400, 'Auth'],
    ['CredentialsProviderError', undefined, 'Auth'],
    ['OptInRequired', 401, 'Auth'],
    ['RequestLimitExceeded', 503, 'Retryable'],
    ['Throttling', 400, 'Retryable'],
    ['InternalError', 500, 'Retryable'],
    ['Unavailable', 503, 'Retryable'],
    ['TimeoutError', undefined, 'Retryable'],
    ['SomethingNew', 502, 'Retryable'],
    ['SomethingNew', 429, 'Retryable'],
    ['Error', 200, 'Retryable'],
    ['InvalidAMIID.NotFound', 400, 'Invalid'],
    ['InvalidInstanceType', 400, 'Invalid'],
    ['InvalidKeyPair.NotFound', 400, 'Invalid'],
    ['InvalidSubnetID.NotFound', 400, 'Invalid'],
    ['IdempotentParameterMismatch', 400, 'Invalid'],
    ['IdempotentInstanceTerminated', 400, 'Invalid'],
    ['OperationNotPermitted', 400, 'Invalid'],
    ['SomethingNew', 403, 'Auth'],
  ] as const)('%s (%s) is %s', (code, status, kind) => {
    expect(failureOf('RunInstances', sdkError(code, status))).toMatchObject({
      kind,
      message: expect.stringMatching(/^RunInstances /) as string,
    });
  });

  it('a type that one zone lacks may be available in another', () => {
    expect(
      failureOf(
        'RunInstances',
        sdkError(
          'Unsupported',
          400,
          'Your requested instance type is not supported in your requested Availability Zone (us-east-1e).',
        ),
      ).kind,
    ).toBe('Capacity');
    expect(
      failureOf('RunInstances', sdkError('Unsupported', 400, 'The image does not boot on it.')).kind,
    ).toBe('Invalid');
  });

  it('say when to retry, what was refused and what to do', () => {
    expect(
      failureOf(
        'RunInstances',
        sdkError('RequestLimitExceeded', 503, 'Request limit exceeded.', { 'retry-after': '7' }),
      ).retryAfterMs,
    ).toBe(7_000);
    expect(
      failureOf('RunInstances (flavor big)', sdkError('InsufficientInstanceCapacity', 500, 'No room.'))
        .message,
    ).toBe(
      'RunInstances (flavor big) was refused by EC2 (500 InsufficientInstanceCapacity): No room. Add alternatives with other zones, subnets or hardware in the cluster file.',
    );
    expect(failureOf('RunInstances', sdkError('IdempotentInstanceTerminated', 400)).message).toContain(
      'Replace the node',
    );
  });
});
