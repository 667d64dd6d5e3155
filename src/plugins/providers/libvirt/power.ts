import type { PowerReading } from '../../contract.js';
import { PowerDriver, powerLimitsOf } from '../../bare-metal/index.js';
import type { LibvirtFields } from './field-types.js';
import { existsAlready, noDomain, type Virsh } from './virsh.js';

/** A paused or crashed domain still has power: it must be ended, not started. */
const onStates = ['running', 'idle', 'paused', 'in shutdown', 'pmsuspended', 'crashed'];

/**
 * Power of one domain. libvirt answers when it is done, so one reading is enough; a system that is asked to
 * shut down is waited for.
 */
export function powerDriverOf(virsh: Virsh, uuid: string, fields: LibvirtFields): PowerDriver {
  const command = async (verb: string, also: RegExp): Promise<{ readonly accepted: true }> => {
    await virsh.run([verb, uuid], { also });
    return { accepted: true };
  };
  return new PowerDriver(
    {
      read: () => readPower(virsh, uuid),
      on: () => command('start', existsAlready),
      off: () => command('destroy', noDomain),
      shutDown: () => command('shutdown', noDomain),
      cycle: async () => {
        const { ok, errors } = await virsh.run(['reset', uuid], {
          also: /not supported|not running|not active/i,
        });
        return ok ? { accepted: true } : { accepted: false, why: errors.join('; ') };
      },
    },
    powerLimitsOf(fields, 1),
    virsh.signal,
  );
}

async function readPower(virsh: Virsh, uuid: string): Promise<PowerReading> {
  const { stdout, ok } = await virsh.run(['domstate', uuid], { also: noDomain });
  const state = stdout.trim();
  if (!ok) return { power: 'unknown', why: 'the domain does not exist in libvirt' };
  if (onStates.includes(state)) return { power: 'on' };
  return state === 'shut off'
    ? { power: 'off' }
    : { power: 'unknown', why: `libvirt calls its state ${state}` };
}
