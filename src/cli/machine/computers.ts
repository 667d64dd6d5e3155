import type { ServerOptions } from '../configuration.js';
import { formatMoment } from '../format.js';
import { noteSilent, verb } from '../verb.js';
import { formatState } from './machine-text.js';
import { noMachines } from './show.js';

/** Which provisioning system has which machine, and which site serves which systems. */
export const computers = verb(
  async ({ client }, _options: ServerOptions) => {
    const { machines, silent } = await client.machines.list();
    const rows = machines.map(({ name, type = '?', provider, site = '?', state, power, user, holder }) => ({
      name,
      system: type,
      provider,
      site,
      state,
      power,
      user: holder?.user ?? user ?? null,
      until: holder?.until ?? null,
      reservation: holder?.reservation ?? null,
    }));
    const sites = [...new Set(rows.map(({ site }) => site))].toSorted().map((site) => {
      const systems = rows.filter((row) => row.site === site).map(({ system }) => system);
      return { site, systems: [...new Set(systems)].toSorted() };
    });
    return { computers: rows, sites, silent };
  },
  {
    table: {
      head: ['MACHINE', 'SYSTEM', 'PROVIDER', 'SITE', 'STATE', 'USER', 'UNTIL'],
      rows: ({ computers: rows }) =>
        rows.map(({ name, system, provider, site, state, power, user, until }) => [
          name,
          system,
          provider,
          site,
          formatState({ state, power }),
          user ?? '-',
          until === null ? '-' : formatMoment(until),
        ]),
      empty: noMachines,
    },
    print: (output, { sites, silent }) => {
      noteSilent(output, 'machine', silent);
      if (sites.length > 0) output.line();
      for (const { site, systems } of sites) output.line(`site ${site} serves ${systems.join(', ')}`);
    },
  },
);
