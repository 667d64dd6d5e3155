import { type Client, isGrpcServiceError } from '@temporalio/client';
import { missingNamespaceText } from '../model/endpoint.js';

/** How often the namespace's UUID is read, in ms. */
const everyMs = 5_000;

const grpcNotFound = 5;

/** The namespace's UUID: the mark of our machines. Another database has another one. */
export async function readInstallation(temporal: Client, namespace: string): Promise<string> {
  const { namespaceInfo } = await temporal.workflowService
    .describeNamespace({ namespace })
    .catch((error: unknown) => {
      const isMissing = isGrpcServiceError(error) && Number(error.code) === grpcNotFound;
      throw isMissing ? new Error(missingNamespaceText(namespace), { cause: error }) : error;
    });
  return namespaceInfo?.id ?? namespace;
}

export interface InstallationWatch {
  /** Resolves to the UUID of another installation, once the server has one under the namespace's name. */
  readonly replaced: Promise<string>;
  stop(): void;
}

/**
 * Watches for a server whose database was replaced. A worker of the earlier one would mark new machines as its
 * own, and the sweep of the new one would not find them. A server that does not answer has not changed.
 */
export function watchInstallation(temporal: Client, namespace: string, known: string): InstallationWatch {
  let timer: NodeJS.Timeout | undefined;
  const replaced = new Promise<string>((resolve) => {
    timer = setInterval(() => {
      temporal
        .withDeadline(Date.now() + everyMs, () => readInstallation(temporal, namespace))
        .then(
          (id) => {
            if (id !== known) resolve(id);
          },
          () => undefined,
        );
    }, everyMs);
    timer.unref();
  });
  return { replaced, stop: () => clearInterval(timer) };
}
