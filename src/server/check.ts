import { Connection, isGrpcServiceError, type ConnectionOptions } from '@temporalio/client';
import { floorProblem } from './version.js';

export type ServerLocation = ConnectionOptions & { readonly address: string };

export interface ServerAnswer {
  readonly address: string;
  readonly serverVersion: string;
  /** The reason why this server should not be used: it is older than the floor. */
  readonly warning?: string;
}

/** No Temporal server answers at an address, or it refuses our credentials. */
export class ServerUnreachableError extends Error {
  override readonly name = 'ServerUnreachableError';
  readonly address: string;
  /** The command that helps. */
  readonly next: string;

  constructor(address: string, { reason, remedy, next, refused = false }: Diagnosis, cause: unknown) {
    const outcome = refused
      ? `The Temporal server at ${address} rejects the credentials`
      : `No Temporal server answers at ${address}`;
    super(`${outcome}: ${reason}. ${remedy}`, { cause });
    this.address = address;
    this.next = next;
  }
}

/**
 * Returns the version of the server at an address, within `limitMs` (default 10 s). @throws
 * ServerUnreachableError, at once for a refused connection.
 */
export async function checkServer(location: ServerLocation, limitMs = 10_000): Promise<ServerAnswer> {
  // Lazy, so that the limit below holds for connecting too; no interceptors, for the default one retries a
  // refused connection.
  const connection = Connection.lazy({ ...location, interceptors: [] });
  try {
    const { serverVersion } = await connection.withDeadline(Date.now() + limitMs, () =>
      connection.workflowService.getSystemInfo({}),
    );
    const warning = floorProblem(serverVersion);
    return { address: location.address, serverVersion, warning };
  } catch (cause) {
    throw new ServerUnreachableError(location.address, diagnose(location, cause, limitMs), cause);
  } finally {
    await connection.close();
  }
}

/** Why no server answers, and what to do. */
interface Diagnosis {
  readonly reason: string;
  readonly remedy: string;
  readonly next: string;
  /** A server responds, but it does not accept our credentials. */
  readonly refused?: boolean;
}

const start = {
  remedy:
    'Start one (`heddle dev` starts a local one), or name another in TEMPORAL_ADDRESS or temporal.toml.',
  next: 'heddle dev',
};
// Shows the address and the setting that it comes from.
const showConfig = { next: 'heddle config show' };
const notTemporal = {
  reason: 'the service there is not a Temporal server, or it requires TLS',
  remedy: 'Check the address; if the server requires TLS, set TEMPORAL_TLS=true or tls in temporal.toml.',
  ...showConfig,
};

/** What the transport says about each fault, and what it means. */
const faults: readonly (readonly [pattern: RegExp, diagnosis: Diagnosis])[] = [
  [
    /wrong version number|packet length too long/,
    {
      reason: 'TLS is configured, but the service there does not support it',
      remedy: 'Check the address, or unset TEMPORAL_TLS, TEMPORAL_API_KEY and tls in temporal.toml.',
      ...showConfig,
    },
  ],
  [
    /alert no application protocol/,
    { reason: 'the service there is not a Temporal server', remedy: 'Check the address.', ...showConfig },
  ],
  [/^(Protocol error|Failed to connect|Client network socket disconnected|read ECONNRESET)/, notTemporal],
];

const grpcDeadlineExceeded = 4;
const grpcPermissionDenied = 7;
const grpcUnimplemented = 12;
const grpcUnauthenticated = 16;

function diagnose({ tls }: ServerLocation, cause: unknown, limitMs: number): Diagnosis {
  const code = isGrpcServiceError(cause) ? Number(cause.code) : undefined;
  const text = firstLine(cause);
  if (code === grpcPermissionDenied || code === grpcUnauthenticated)
    return {
      reason: text,
      remedy: 'Check the API key or the certificate (TEMPORAL_*, temporal.toml).',
      ...showConfig,
      refused: true,
    };
  if (code === grpcDeadlineExceeded) return { ...start, reason: `no response within ${limitMs / 1000} s` };
  if (code === grpcUnimplemented) return notTemporal;
  const host = /Name resolution failed for target (?:dns:)?(.*):\d+$/.exec(text)?.[1];
  if (host !== undefined) return { ...start, reason: `the name ${host} cannot be resolved` };
  const known = faults.find(([pattern]) => pattern.test(text))?.[1];
  if (known !== undefined) return known;
  if (tls !== undefined && tls !== null && /certificate|altnames/i.test(text))
    return {
      reason: `its certificate is not accepted (${text})`,
      remedy:
        'Name its authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH, or its name in TEMPORAL_TLS_SERVER_NAME.',
      ...showConfig,
    };
  return { ...start, reason: text };
}

/** Extracts the cause from the transport's message. */
function firstLine(cause: unknown): string {
  const text = (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? '';
  return text
    .replace(/^\d+ [A-Z_]+: /, '')
    .replace(/^.*Last error: (?:Error: )?/, '')
    .replace(/\.? Resolution note:.*$/, '');
}
