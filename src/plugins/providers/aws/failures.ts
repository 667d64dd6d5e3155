import { PluginError, type FailureKind } from '../../contract.js';

/** Failure kinds of EC2's error codes. Other codes are classified by HTTP status. */
const kinds: Readonly<Partial<Record<FailureKind, readonly string[]>>> = {
  Capacity: [
    'InsufficientInstanceCapacity',
    'InsufficientHostCapacity',
    'InsufficientReservedInstanceCapacity',
    'InsufficientCapacity',
    'InsufficientCapacityOnHost',
    'InsufficientFreeAddressesInSubnet',
    'SpotMaxPriceTooLow',
    'ReservationCapacityExceeded',
    'InsufficientAddressCapacity',
  ],
  Quota: [
    'InstanceLimitExceeded',
    'VcpuLimitExceeded',
    'MaxSpotInstanceCountExceeded',
    'MaxSpotFleetRequestCountExceeded',
    'VolumeLimitExceeded',
    'AddressLimitExceeded',
    'PrivateIpAddressLimitExceeded',
    'NetworkInterfaceLimitExceeded',
    'MaxIOPSLimitExceeded',
    'ResourceLimitExceeded',
    'FreeTierRestrictionError',
  ],
  Auth: [
    'AuthFailure',
    'UnauthorizedOperation',
    'InvalidClientTokenId',
    'SignatureDoesNotMatch',
    'IncompleteSignature',
    'ExpiredToken',
    'RequestExpired',
    'MissingAuthenticationToken',
    'UnrecognizedClientException',
    'OptInRequired',
    'Blocked',
    'PendingVerification',
    'AccessDenied',
    'AccessDeniedException',
    'CredentialsProviderError',
    'TokenProviderError',
  ],
  Retryable: [
    'RequestLimitExceeded',
    'Throttling',
    'ThrottlingException',
    'ThrottledException',
    'EC2ThrottledException',
    'TooManyRequestsException',
    'RequestThrottledException',
    'BandwidthLimitExceeded',
    'ConcurrentTagAccess',
    'InternalError',
    'InternalFailure',
    'Unavailable',
    'ServiceUnavailable',
    'ClientInternalError',
  ],
};

const remedies: Readonly<Partial<Record<string, string>>> = {
  Capacity: 'Add alternatives with other zones, subnets or hardware in the cluster file.',
  Quota: 'Request a higher limit from AWS, or use less.',
  Auth: "Check the account's credentials and the permissions in docs/reference/providers/aws.md.",
  IdempotentInstanceTerminated:
    'The machine of this key was terminated, and a key never gets a second one. Replace the node.',
  IdempotentParameterMismatch:
    'An earlier CREATE of this machine had other parameters: were fields or secrets of the account changed since then? Restore them, or replace the node.',
};

/** What the SDK throws, as far as it matters here. */
interface SdkError {
  readonly name: string;
  readonly message: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string | undefined>> };
}

export function codeOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

/** Makes a PluginError of what a call threw. Every call may be repeated: creating carries a token. */
export function failureOf(what: string, error: unknown): PluginError {
  if (!isSdkError(error))
    return new PluginError('Retryable', `${what} failed: ${String(error)}`, { cause: error });
  const status = error.$metadata?.httpStatusCode;
  if (status === undefined && !isRefusalOfSdk(error))
    return new PluginError(
      'Retryable',
      `${what} got no answer from EC2 (${error.message}). Can this worker reach it?`,
      { cause: error },
    );
  const code = error.name;
  const kind = kindOf(code, error.message, status ?? 400);
  const wait = Number(error.$response?.headers?.['retry-after'] ?? Number.NaN);
  const refused =
    status !== undefined && status < 300
      ? 'returned a response that is not from EC2'
      : `was refused by EC2 (${status === undefined ? '' : `${status} `}${code})`;
  return new PluginError(
    kind,
    `${what} ${refused}: ${sentence(error.message)}${remedies[code] ?? remedies[kind] ?? ''}`.trim(),
    { cause: error, ...(Number.isFinite(wait) ? { retryAfterMs: wait * 1_000 } : {}) },
  );
}

function sentence(message: string): string {
  return `${(message.split('\n')[0] ?? '').replace(/[.\s]*$/, '')}. `;
}

function kindOf(code: string, message: string, status: number): FailureKind {
  for (const [kind, codes] of Object.entries(kinds) as [FailureKind, readonly string[]][]) {
    if (codes.includes(code)) return kind;
  }
  // Not in this zone, but perhaps in another.
  if (code === 'Unsupported' && /availability zone/i.test(message)) return 'Capacity';
  if (status === 401 || status === 403) return 'Auth';
  return status === 429 || status >= 500 || status < 300 ? 'Retryable' : 'Invalid';
}

/** Nothing was sent: there are no credentials. */
function isRefusalOfSdk({ name }: SdkError): boolean {
  return name === 'CredentialsProviderError' || name === 'TokenProviderError';
}

function isSdkError(error: unknown): error is SdkError {
  return error instanceof Error;
}
