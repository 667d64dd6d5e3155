import { z } from 'zod';
import type { Knowledge, Outcome, PowerReading, SizeReading } from '../../model/machine/answer.js';
import type { TaskResult } from '../../model/node/task.js';
import type { MachineInput } from '../contract.js';
import type {
  BootTarget,
  CanCapture,
  CanLoad,
  CanPower,
  CanReset,
  CanRetrieve,
  CanSetBoot,
  CanShowImages,
  ImageInput,
} from '../machine-abilities.js';
import { parseFields } from '../provider-base/fields.js';
import { resolveAddress } from '../provider-base/machines.js';
import { ClaimingProvider } from './claiming-provider.js';
import { ImageTool } from './image-tool.js';
import { readImager, readMachines, type RealMachine } from './machine-fields.js';
import { powerFields, powerLimitsOf, type PowerDriver, type PowerLimits } from './power-driver.js';

/**
 * Real machines with a management controller each: CREATE claims a free one, DELETE releases it.
 * What their controllers speak is the subclass's; where images come from is the administrator's programs'.
 */
export abstract class RealMachines
  extends ClaimingProvider<RealMachine>
  implements CanPower, CanReset, CanSetBoot, CanShowImages, CanRetrieve, CanLoad, CanCapture
{
  protected readonly word = 'machine';

  protected abstract power(machine: RealMachine): PowerDriver;
  abstract setBootOf(machine: RealMachine, target: BootTarget): Promise<Outcome>;
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
    return this.power(await this.own(input)).on();
  }

  async powerOff(input: MachineInput): Promise<Outcome> {
    return this.power(await this.own(input)).off();
  }

  async powerReset(input: MachineInput): Promise<Outcome> {
    return this.power(await this.own(input)).reset();
  }

  async setBoot(input: MachineInput, target: BootTarget): Promise<Outcome> {
    return this.setBootOf(await this.own(input), target);
  }

  async bootTarget(input: MachineInput): Promise<string | undefined> {
    return this.bootTargetOf(await this.own(input));
  }

  async imageExists(input: ImageInput): Promise<Knowledge> {
    return this.tool().exists((await this.own(input)).name, input);
  }

  async imageSize(input: ImageInput): Promise<SizeReading> {
    return this.tool().size((await this.own(input)).name, input);
  }

  async retrieveImage(input: ImageInput): Promise<Outcome> {
    return this.tool().execute('retrieve', (await this.own(input)).name, input);
  }

  async load(input: ImageInput): Promise<Outcome> {
    return this.tool().execute('load', (await this.own(input)).name, input);
  }

  async capture(input: ImageInput): Promise<Outcome> {
    return this.tool().execute('capture', (await this.own(input)).name, input);
  }

  protected powerLimits(readings: number): PowerLimits {
    const what = `provider ${this.task.provider.name}`;
    return powerLimitsOf(parseFields(z.object(powerFields), this.fields, what), readings);
  }

  private tool(): ImageTool {
    return new ImageTool(readImager(this.fields, this.task.provider.name), this.signal);
  }

  protected things(): readonly RealMachine[] {
    return readMachines(this.fields, this.task.provider.name);
  }
}
