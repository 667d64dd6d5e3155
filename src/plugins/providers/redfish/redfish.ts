import type { FieldFault } from '../../../model/field-fault.js';
import type {
  BootDevice,
  BootTarget,
  ConsoleCommand,
  Hardware,
  MachineInput,
  Outcome,
  ProviderAbilities,
} from '../../contract.js';
import {
  accountFaults,
  PowerDriver,
  RealMachines,
  type PowerLimits,
  type RealMachine,
  type RealMachineFields,
} from '../../bare-metal/index.js';
import { parseFields } from '../../provider-base/fields.js';
import { consoleCommandOf } from './console.js';
import { controllerSchema, RedfishHttp, type Controller } from './http.js';
import { RedfishSystem } from './system.js';

const bootSources = { pxe: 'Pxe', disk: 'Hdd', cdrom: 'Cd', bios: 'BiosSetup' } as const;

/** Real machines whose management controllers speak Redfish. */
export class RedfishProvider extends RealMachines implements Partial<ProviderAbilities> {
  static checkFields = (fields: Partial<RealMachineFields>): readonly FieldFault[] =>
    accountFaults(fields, controllerSchema);

  protected override power(machine: RealMachine): PowerDriver {
    return powerDriverOf(this.#system(machine), this.powerLimits(), this.signal);
  }

  override setBootOf(machine: RealMachine, target: BootTarget): Promise<Outcome> {
    return target === 'disk'
      ? this.#system(machine).setBoot('Hdd', 'Continuous')
      : this.#system(machine).setBoot('Pxe', 'Once');
  }

  override bootOnceOf(machine: RealMachine, device: BootDevice): Promise<Outcome> {
    return this.#system(machine).setBoot(bootSources[device], 'Once');
  }

  override hardwareOf(machine: RealMachine): Promise<Hardware> {
    return this.#system(machine).hardware();
  }

  override bootTargetOf(machine: RealMachine): Promise<string | undefined> {
    return this.#system(machine).bootTarget();
  }

  /** By the way that the controller offers: SSH, or IPMI; the escape sequence ~. ends both. */
  async console(input: MachineInput): Promise<ConsoleCommand> {
    const machine = await this.own(input);
    return consoleCommandOf(await this.#system(machine).console(), this.#controller(machine));
  }

  #controller({ name, bmc }: RealMachine): Controller {
    return parseFields(controllerSchema, bmc, `controller of machine ${name}`);
  }

  #system(machine: RealMachine): RedfishSystem {
    const controller = this.#controller(machine);
    return new RedfishSystem(new RedfishHttp(controller, this.signal, this.calls), controller, this.signal);
  }
}

/** Lists alternative reset types in order; the controller says which it allows. */
export function powerDriverOf(system: RedfishSystem, limits: PowerLimits, signal: AbortSignal): PowerDriver {
  return new PowerDriver(
    {
      read: () => system.power(),
      on: () => system.reset(['On', 'ForceOn']),
      off: () => system.reset(['ForceOff']),
      shutDown: () => system.reset(['GracefulShutdown']),
      cycle: () => system.reset(['PowerCycle', 'ForceRestart']),
    },
    limits,
    signal,
  );
}
