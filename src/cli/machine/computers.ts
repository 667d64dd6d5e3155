import { formatMoment } from '../format.js';
import type { Session } from '../session.js';
import { noteSilent, verb } from '../verb.js';
import { formatState } from './machine-text.js';
import { listMachines, noMachines, type FilterOptions } from './show.js';

/** Which provisioning system has which machine, and which site serves which systems. */
export const computers = verb(
  async (session: Session, options: FilterOptions) => {
    const { machines, silent } = await listMachines(session, options);
    const rows = machines.map((machine) => {
      const {
        name,
        type = '?',
        provider,
        site = '?',
        state,
        power,
        user,
        holder,
        groups,
        labels,
        quarantine,
      } = machine;
      return {
        name,
        system: type,
        provider,
        site,
        state,
        power,
        user: holder?.user ?? user ?? null,
        until: holder?.until ?? null,
        reservation: holder?.reservation ?? null,
        groups,
        labels,
        quarantine,
      };
    });
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
        rows.map(({ name, system, provider, site, state, power, quarantine, user, until }) => [
          name,
          system,
          provider,
          site,
          formatState({ state, power, quarantine }),
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
