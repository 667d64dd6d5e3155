import { z } from 'zod';
import { isPluginError, type BootTarget, type Outcome, type PowerReading } from '../../contract.js';
import {
  parseFields,
  PowerDriver,
  RealMachines,
  type PowerLimits,
  type RealMachine,
} from '../../bare-metal/index.js';
import { controllerSchema, RedfishHttp } from './http.js';
import { RedfishSystem } from './system.js';

const limitsSchema = z.object({
  settleSeconds: z.number().min(0.1).default(60),
  shutDownSeconds: z.number().min(0).default(0),
  readEveryMs: z.number().min(10).default(1_000),
});

/** Real machines whose management controllers speak Redfish. */
export class RedfishProvider extends RealMachines {
  protected override power(machine: RealMachine): PowerDriver {
    const { settleSeconds, shutDownSeconds, readEveryMs } = parseFields(
      limitsSchema,
      this.fields,
      `provider ${this.task.provider.name}`,
    );
    return powerDriverOf(
      this.#system(machine),
      {
        settleMs: settleSeconds * 1_000,
        shutDownMs: shutDownSeconds * 1_000,
        everyMs: readEveryMs,
        readings: 2,
      },
      this.signal,
    );
  }

  override setBootOf(machine: RealMachine, target: BootTarget): Promise<Outcome> {
    return target === 'disk'
      ? this.#system(machine).setBoot('Hdd', 'Continuous')
      : this.#system(machine).setBoot('Pxe', 'Once');
  }

  override bootTargetOf(machine: RealMachine): Promise<string | undefined> {
    return this.#system(machine).bootTarget();
  }

  #system({ name, bmc }: RealMachine): RedfishSystem {
    const controller = parseFields(controllerSchema, bmc, `controller of machine ${name}`);
    return new RedfishSystem(new RedfishHttp(controller, this.signal, this.calls), controller, this.signal);
  }
}

/** Which of several names for one thing a controller knows, it says itself. */
export function powerDriverOf(system: RedfishSystem, limits: PowerLimits, signal: AbortSignal): PowerDriver {
  return new PowerDriver(
    {
      read: () => readPower(system),
      on: () => system.reset(['On', 'ForceOn']),
      off: () => system.reset(['ForceOff']),
      shutDown: () => system.reset(['GracefulShutdown']),
      cycle: () => system.reset(['PowerCycle', 'ForceRestart']),
    },
    limits,
    signal,
  );
}

/**
 * A controller that does not answer leaves the power unknown; one that says no is a fault that people mend.
 */
async function readPower(system: RedfishSystem): Promise<PowerReading> {
  try {
    return await system.power();
  } catch (error) {
    if (isPluginError(error) && error.kind === 'Retryable') return { power: 'unknown', why: error.message };
    throw error;
  }
}
