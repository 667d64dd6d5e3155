interface Handle {
  readonly type: string;
  readonly is_active?: boolean;
  readonly localEndpoint?: { readonly ip4?: string; readonly port?: number } | null;
  readonly remoteEndpoint?: { readonly ip4?: string; readonly port?: number } | null;
  readonly pid?: number;
}

/**
 * What this process waits for, for an operator: its age and memory, pending work, open handles,
 * and its stack.
 */
export function describeProcess(): readonly string[] {
  const { rss, heapUsed } = process.memoryUsage();
  const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`;
  const kinds = process.getActiveResourcesInfo();
  const pending = [...new Set(kinds)]
    .toSorted((one, other) => one.localeCompare(other))
    .map((kind) => `${kinds.filter((one) => one === kind).length} ${kind}`);
  const report = process.report?.getReport() as
    | {
        readonly libuv?: readonly Handle[];
        readonly javascriptStack?: { readonly stack?: readonly string[] };
      }
    | undefined;
  return [
    `process ${process.pid}: up ${Math.round(process.uptime())} s, ${mebibytes(rss)}, heap ${mebibytes(heapUsed)}`,
    `pending: ${pending.join(', ') || 'nothing'}`,
    ...(report?.libuv ?? []).filter(({ is_active: isActive }) => isActive === true).map(describeHandle),
    ...(report?.javascriptStack?.stack ?? []).map((line) => `stack: ${line.trim()}`),
  ];
}

function describeHandle({ type, localEndpoint, remoteEndpoint, pid }: Handle): string {
  const end = (name: string, endpoint: Handle['localEndpoint']): string =>
    endpoint?.port === undefined ? '' : ` ${name} ${endpoint.ip4 ?? ''}:${endpoint.port}`;
  return `handle: ${type}${end('at', localEndpoint)}${end('to', remoteEndpoint)}${pid === undefined ? '' : ` of process ${pid}`}`;
}
