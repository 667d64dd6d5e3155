import { Connection, isGrpcServiceError, type ConnectionOptions } from '@temporalio/client';
import { floorProblem } from './version.js';

export type ServerLocation = ConnectionOptions & { readonly address: string };

export interface ServerAnswer {
  readonly address: string;
  readonly serverVersion: string;
  /** Says why this server should not be used: it is older than the floor. */
  readonly warning?: string;
}

/** No Temporal server answers at an address, or it refuses our credentials. */
export class ServerUnreachableError extends Error {
  override readonly name = 'ServerUnreachableError';
  readonly address: string;
  /** A short cause. */
  readonly reason: string;
  /** A server is there, but it does not accept our credentials. */
  readonly refused: boolean;

  constructor(
    address: string,
    reason: string,
    options: { readonly refused: boolean; readonly cause: unknown },
  ) {
    super(
      options.refused
        ? `The Temporal server at ${address} does not let us in: ${reason}. Check the API key or the certificate (TEMPORAL_*, temporal.toml).`
        : `No Temporal server answers at ${address}: ${reason}. ` +
            'Start one (`heddle dev` starts a local one), or name another in TEMPORAL_ADDRESS or temporal.toml.',
      { cause: options.cause },
    );
    this.address = address;
    this.reason = reason;
    this.refused = options.refused;
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
    throw unreachable(location.address, cause, limitMs);
  } finally {
    await connection.close();
  }
}

const grpcDeadlineExceeded = 4;
const grpcPermissionDenied = 7;
const grpcUnauthenticated = 16;

function unreachable(address: string, cause: unknown, limitMs: number): ServerUnreachableError {
  const code = isGrpcServiceError(cause) ? Number(cause.code) : undefined;
  const refused = code === grpcPermissionDenied || code === grpcUnauthenticated;
  const reason =
    code === grpcDeadlineExceeded ? `nothing came back within ${limitMs / 1000} s` : firstLine(cause);
  return new ServerUnreachableError(address, reason, { refused, cause });
}

/** Extracts the cause from the transport's message. */
function firstLine(cause: unknown): string {
  const text = (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? '';
  return text.replace(/^.*Last error: (?:Error: )?/, '').replace(/\.? Resolution note:.*$/, '');
}
