import type { Connection } from '@temporalio/client';

type WorkflowService = Connection['workflowService'];
type Page = Awaited<ReturnType<WorkflowService['listWorkflowExecutions']>>;

export type WorkflowExecution = Page['executions'][number];

interface Listing {
  readonly namespace: string;
  readonly query: string;
  readonly pageSize?: number;
  /** Makes the call for one page, with the caller's deadline. */
  readonly call: <Result>(make: () => Promise<Result>) => Promise<Result>;
}

/** Lists all workflow executions that match a query, page by page. */
export async function* listExecutions(
  service: WorkflowService,
  { namespace, query, pageSize = 1_000, call }: Listing,
): AsyncGenerator<WorkflowExecution> {
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const page: Page = await call(() =>
      service.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken }),
    );
    yield* page.executions;
    ({ nextPageToken } = page);
  }
}

/** All of them at once. */
export async function collectExecutions(
  service: WorkflowService,
  listing: Listing,
): Promise<readonly WorkflowExecution[]> {
  const found: WorkflowExecution[] = [];
  for await (const execution of listExecutions(service, listing)) found.push(execution);
  return found;
}
