import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput } from '../output.js';
import { withSession } from '../session.js';
import { formatTable } from '../table.js';
import { formatMoment } from '../time-text.js';

/** Which provisioning system has which machine, and which site serves which systems. */
export async function computers(options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const { machines, silent } = await withSession(options, ({ client }) => client.machines.list());
  const rows = machines.map(({ name, type = '?', provider, site = '?', state, user, holder }) => ({
    name,
    system: type,
    provider,
    site,
    state,
    user: holder?.user ?? user ?? null,
    until: holder?.until ?? null,
    reservation: holder?.reservation ?? null,
  }));
  const sites = [...new Set(rows.map(({ site }) => site))]
    .toSorted()
    .map((site) => ({
      site,
      systems: [...new Set(rows.filter((row) => row.site === site).map(({ system }) => system))].toSorted(),
    }));
  output.document({ computers: rows, sites, silent });
  for (const name of silent) output.note(cleanLine(`machine ${name} does not answer`));
  if (rows.length === 0) {
    output.line('no machines');
    output.line('next: heddle machine add NAME --provider PROVIDER');
    return exitCodes.ok;
  }
  const [head = '', ...lines] = formatTable(
    ['MACHINE', 'SYSTEM', 'PROVIDER', 'SITE', 'STATE', 'USER', 'UNTIL'],
    rows.map(({ name, system, provider, site, state, user, until }) => [
      name,
      system,
      provider,
      site,
      state,
      user ?? '-',
      until === null ? '-' : formatMoment(until),
    ]),
  );
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
  output.line();
  for (const { site, systems } of sites) output.line(`site ${site} serves ${systems.join(', ')}`);
  return exitCodes.ok;
}
