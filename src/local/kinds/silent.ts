import type { MachineRecord } from '../machine.js';
import { SilentServer } from '../ssh/server.js';
import type { Booted } from './kind.js';

/** A scripted fault: the machine runs, and its SSH port takes connections, but nothing answers there. */
export async function bootSilent(machine: MachineRecord): Promise<Booted> {
  const server = await SilentServer.listen(machine.address, machine.port);
  return {
    port: server.port,
    died: new Promise(() => undefined),
    halt: async () => {
      server.close();
    },
  };
}
