import { z } from 'zod';
import type { Knowledge, Outcome, PowerReading, SizeReading } from '../../model/machine/answer.js';
import type { TaskResult } from '../../model/node/task.js';
import type { MachineInput, PluginContext } from '../contract.js';
import { PluginError } from '../errors.js';
import type {
  BootDevice,
  BootTarget,
  CanBootOnce,
  CanDescribeHardware,
  Hardware,
  CanCapture,
  CanEndRun,
  CanErase,
  CanLoad,
  CanPower,
  CanReset,
  CanRetrieve,
  CanSetBoot,
  CanShowImages,
  DiskToErase,
  ImageInput,
} from '../machine-abilities.js';
import { parseFields } from '../provider-base/fields.js';
import { resolveAddress } from '../provider-base/machines.js';
import { ClaimingProvider } from './claiming-provider.js';
import { ImageTool } from './image-tool.js';
import { MachineRuns } from './machine-runs.js';
import { readErase, readImager, readMachines, type RealMachine } from './machine-fields.js';
import { powerFields, powerLimitsOf, type PowerDriver, type PowerLimits } from './power-driver.js';

/** One reading of a controller may be old, or wrong. */
const equalReadings = 2;

/**
 * Real machines with a management controller each: CREATE claims a free one, DELETE releases it.
 * What their controllers speak is the subclass's; where images come from is the administrator's programs'.
 */
export abstract class RealMachines
  extends ClaimingProvider<RealMachine>
  implements
    CanPower,
    CanReset,
    CanSetBoot,
    CanBootOnce,
    CanDescribeHardware,
    CanShowImages,
    CanRetrieve,
    CanLoad,
    CanCapture,
    CanEndRun,
    CanErase
{
  protected readonly word = 'machine';
  readonly #context: PluginContext;

  constructor(context: PluginContext) {
    super(context);
    this.#context = context;
  }

  protected abstract power(machine: RealMachine): PowerDriver;
  abstract setBootOf(machine: RealMachine, target: BootTarget): Promise<Outcome>;
  abstract bootOnceOf(machine: RealMachine, device: BootDevice): Promise<Outcome>;
  abstract hardwareOf(machine: RealMachine): Promise<Hardware>;
  abstract bootTargetOf(machine: RealMachine): Promise<string | undefined>;

  override async confirm(input: MachineInput): Promise<TaskResult> {
    const { address, port, sshAuth, hostKeys } = await this.own(input);
    return {
      result: {
        ipaddress: await resolveAddress(address),
        'ssh-port': port,
        'ssh-auth': sshAuth,
        ...(hostKeys.length > 0 ? { 'ssh-host-key': [...hostKeys] } : {}),
      },
    };
  }

  async powerStatus(input: MachineInput): Promise<PowerReading> {
    return this.power(await this.own(input)).status();
  }

  async powerOn(input: MachineInput): Promise<Outcome> {
    return this.power(await this.settled(input)).on();
  }

  async powerOff(input: MachineInput): Promise<Outcome> {
    return this.power(await this.settled(input)).off();
  }

  async powerReset(input: MachineInput): Promise<Outcome> {
    return this.power(await this.settled(input)).reset();
  }

  async setBoot(input: MachineInput, target: BootTarget): Promise<Outcome> {
    return this.setBootOf(await this.settled(input), target);
  }

  async bootOnce(input: MachineInput, device: BootDevice): Promise<Outcome> {
    return this.bootOnceOf(await this.settled(input), device);
  }

  async hardware(input: MachineInput): Promise<Hardware> {
    return this.hardwareOf(await this.own(input));
  }

  async bootTarget(input: MachineInput): Promise<string | undefined> {
    return this.bootTargetOf(await this.own(input));
  }

  async imageExists(input: ImageInput): Promise<Knowledge> {
    return (await this.imager(input)).exists(input);
  }

  async imageSize(input: ImageInput): Promise<SizeReading> {
    return (await this.imager(input)).size(input);
  }

  async retrieveImage(input: ImageInput): Promise<Outcome> {
    return (await this.imager(input)).execute('retrieve', input);
  }

  async load(input: ImageInput): Promise<Outcome> {
    return (await this.imager(input)).execute('load', input);
  }

  async capture(input: ImageInput): Promise<Outcome> {
    return (await this.imager(input)).execute('capture', input);
  }

  async endRun(input: MachineInput): Promise<Outcome> {
    await this.settled(input);
    return { answer: 'done' };
  }

  async disksToErase(): Promise<readonly DiskToErase[]> {
    return readErase(this.fields, this.task.provider.name);
  }

  protected override settle(machine: string): Promise<void> {
    return this.runs(machine).end();
  }

  /** The machine, when no program of an earlier task works on it. */
  private async settled(input: MachineInput): Promise<RealMachine> {
    const machine = await this.own(input);
    await this.settle(machine.name);
    return machine;
  }

  protected powerLimits(): PowerLimits {
    const what = `provider ${this.task.provider.name}`;
    return powerLimitsOf(parseFields(z.object(powerFields), this.fields, what), equalReadings);
  }

  private async imager(input: MachineInput): Promise<ImageTool> {
    const { name } = await this.own(input);
    return new ImageTool({
      imager: readImager(this.fields, this.task.provider.name),
      machine: name,
      runs: this.runs(name),
      signal: this.signal,
      detach: this.#context.detach,
    });
  }

  private runs(machine: string): MachineRuns {
    const { runs: records } = this.#context;
    const { provider, nodeId } = this.task;
    if (records === undefined)
      throw new PluginError('Invalid', `provider type ${provider.type} needs an engine that keeps runs`);
    return new MachineRuns({ records, account: provider.name, machine, nodeId });
  }

  protected things(): Promise<readonly RealMachine[]> {
    return readMachines(this.fields, this.task.provider.name, this.log);
  }

  /** With the secrets of its controller. */
  protected override async own(input: MachineInput): Promise<RealMachine> {
    const machine = await super.own(input);
    const { name, inventory, bmc } = machine;
    if (inventory === undefined) return machine;
    const { resolveReferences } = this.#context;
    if (resolveReferences === undefined)
      throw new PluginError('Invalid', 'an inventory needs an engine that resolves references');
    const place = `controller of machine ${name} in inventory ${inventory}`;
    return { ...machine, bmc: await resolveReferences(bmc, place) };
  }
}
