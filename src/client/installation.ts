import { type Client, isGrpcServiceError } from '@temporalio/client';
import { missingNamespaceText } from '../model/endpoint.js';

const grpcNotFound = 5;

/** The namespace's UUID: the mark of our machines. Another database has another one. */
export async function readInstallation({ workflowService, options }: Client): Promise<string> {
  const { namespace } = options;
  const { namespaceInfo } = await workflowService.describeNamespace({ namespace }).catch((error: unknown) => {
    const isMissing = isGrpcServiceError(error) && Number(error.code) === grpcNotFound;
    throw isMissing ? new Error(missingNamespaceText(namespace), { cause: error }) : error;
  });
  return namespaceInfo?.id ?? namespace;
}
