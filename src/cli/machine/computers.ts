import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';
import { formatTable } from '../table.js';

/** Which provisioning system has which machine, and which site serves which systems. */
export async function computers(options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const { machines, silent } = await withSession(options, ({ client }) => client.machines.list());
  const rows = machines.map(({ name, type = '?', provider, site = '?', state }) => ({ name, system: type, provider, site, state }));
  const sites = [...new Set(rows.map(({ site }) => site))].toSorted().map((site) => ({
    site, systems: [...new Set(rows.filter((row) => row.site === site).map(({ system }) => system))].toSorted(),
  }));
  output.document({ computers: rows, sites, silent });
  const [head = '', ...lines] = formatTable(['MACHINE', 'SYSTEM', 'PROVIDER', 'SITE', 'STATE'], rows.map(({ name, system, provider, site, state }) => [name, system, provider, site, state]));
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
  output.line();
  for (const { site, systems } of sites) output.line(`site ${site} serves ${systems.join(', ')}`);
  return exitCodes.ok;
}
