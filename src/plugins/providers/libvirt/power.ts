import { isPluginError, type PowerReading } from '../../contract.js';
import { PowerDriver } from '../../bare-metal/index.js';
import type { LibvirtFields } from './fields.js';
import { existsAlready, noDomain, type Virsh } from './virsh.js';

/** A domain whose processors stand still has power all the same: it is ended, not started. */
const offStates = ['shut off'];
const onStates = ['running', 'idle', 'paused', 'in shutdown', 'pmsuspended', 'crashed'];

/**
 * Power of one domain. libvirt answers when it is done, so one reading is enough; a system that is asked to
 * shut down is waited for.
 */
export function powerDriverOf(
  virsh: Virsh,
  uuid: string,
  { settleSeconds, shutDownSeconds, readEveryMs }: LibvirtFields,
): PowerDriver {
  const tell = async (verb: string, also: RegExp): Promise<{ readonly told: true }> => {
    await virsh.run([verb, uuid], { also });
    return { told: true };
  };
  return new PowerDriver(
    {
      read: () => readPower(virsh, uuid),
      on: () => tell('start', existsAlready),
      off: () => tell('destroy', noDomain),
      shutDown: () => tell('shutdown', noDomain),
      cycle: async () => {
        const { ok, errors } = await virsh.run(['reset', uuid], {
          also: /not supported|not running|not active/i,
        });
        return ok ? { told: true } : { told: false, why: errors.join('; ') };
      },
    },
    {
      settleMs: settleSeconds * 1_000,
      shutDownMs: shutDownSeconds * 1_000,
      everyMs: readEveryMs,
      readings: 1,
    },
    virsh.signal,
  );
}

/** A libvirt that does not answer leaves the power unknown; one that says no is a fault that people mend. */
async function readPower(virsh: Virsh, uuid: string): Promise<PowerReading> {
  try {
    const { stdout, ok } = await virsh.run(['domstate', uuid], { also: noDomain });
    const state = stdout.trim();
    if (ok && onStates.includes(state)) return { power: 'on' };
    return ok && offStates.includes(state)
      ? { power: 'off' }
      : { power: 'unknown', why: ok ? `libvirt calls its state ${state}` : 'libvirt has no such domain' };
  } catch (error) {
    if (isPluginError(error) && error.kind === 'Retryable') return { power: 'unknown', why: error.message };
    throw error;
  }
}
