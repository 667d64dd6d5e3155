import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';
import { formatTable } from '../table.js';
import { formatAge } from '../time-text.js';

/** The clusters that the server knows of; no worker is needed. */
export async function list(options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const clusters = await withSession(options, ({ client }) => client.list());
  output.document({ clusters });
  if (clusters.length === 0) {
    output.line('no clusters');
    output.line('next: heddle apply FILE');
    return exitCodes.ok;
  }
  const now = Date.now();
  const rows = clusters.map(({ name, phase, createdAt }) => [name, phase ?? '-', formatAge(createdAt, now)]);
  const [head = '', ...lines] = formatTable(['CLUSTER', 'PHASE', 'AGE'], rows);
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
  return exitCodes.ok;
}
