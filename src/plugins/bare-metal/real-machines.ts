import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Knowledge, Outcome, PowerReading, SizeReading } from '../../model/machine/answer.js';
import { tagNames } from '../../model/names.js';
import type { TaskResult } from '../../model/task.js';
import { Provider, type Claims, type CreateInput, type Machine, type MachineInput, type PluginContext } from '../contract.js';
import { PluginError } from '../errors.js';
import type { BootTarget, CanCapture, CanLoad, CanPower, CanReset, CanRetrieve, CanSetBoot, CanShowImages, ImageInput } from '../machine-abilities.js';
import { ImageTool } from './image-tool.js';
import { readImager, readMachines, type RealMachine } from './machine-fields.js';
import type { PowerDriver } from './power-driver.js';

/**
 * Real machines with a management controller each: CREATE takes one that nobody has, DELETE gives it back. What their controllers
 * speak is the subclass's; where images come from is the administrator's programs'.
 */
export abstract class RealMachines extends Provider implements CanPower, CanReset, CanSetBoot, CanShowImages, CanRetrieve, CanLoad, CanCapture {
  private readonly claims: Claims;

  constructor(context: PluginContext) {
    super(context);
    if (context.claims === undefined) throw new PluginError('Invalid', 'real machines need an engine that keeps claims');
    this.claims = context.claims;
  }

  protected abstract power(machine: RealMachine): PowerDriver;
  abstract setBootOf(machine: RealMachine, target: BootTarget): Promise<Outcome>;
  abstract bootTargetOf(machine: RealMachine): Promise<string | undefined>;

  override async create({ key, flavor }: CreateInput): Promise<TaskResult> {
    const { machine: named } = this.fields;
    const fitting = this.machines().filter((machine) => (named === undefined ? (machine.flavor ?? flavor) === flavor : machine.name === named));
    const name = await this.claims.take(key, fitting.map((machine) => machine.name));
    if (name === undefined) {
      const what = named === undefined ? `of flavor ${flavor}` : `called ${JSON.stringify(named)}`;
      throw new PluginError(fitting.length === 0 ? 'Invalid' : 'Capacity', `provider ${this.task.provider.name} has ${fitting.length === 0 ? 'no machine' : 'no free machine'} ${what}; its machines are ${this.machines().map((machine) => machine.name).join(', ')}`);
    }
    this.log.info(`took machine ${name}`, { machine: name });
    return { result: { providerid: name } };
  }

  override async confirm(input: MachineInput): Promise<TaskResult> {
    const { address, port, sshAuth, hostKeys } = await this.own(input);
    return {
      result: {
        ipaddress: isIP(address) > 0 ? address : (await lookup(address)).address, 'ssh-port': port, 'ssh-auth': sshAuth,
        ...(hostKeys.length > 0 ? { 'ssh-host-key': [...hostKeys] } : {}),
      },
    };
  }

  override async delete({ key }: MachineInput): Promise<void> {
    await this.claims.release(key);
  }

  async list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]> {
    const held = Object.entries(await this.claims.held()).map(([name, key]): Machine => ({
      providerid: name, key, state: 'running', tags: { [tagNames.installation]: tags[tagNames.installation] ?? '', [tagNames.key]: key },
    }));
    return held.filter((machine) => Object.entries(tags).every(([name, value]) => machine.tags[name] === value));
  }

  async find(key: string): Promise<readonly Machine[]> {
    const name = await this.nameOf(key);
    return name === undefined ? [] : [{ providerid: name, key, tags: {}, state: 'running', created: { providerid: name } }];
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
    return this.tool().carryOut('retrieve', (await this.own(input)).name, input);
  }

  async load(input: ImageInput): Promise<Outcome> {
    return this.tool().carryOut('load', (await this.own(input)).name, input);
  }

  async capture(input: ImageInput): Promise<Outcome> {
    return this.tool().carryOut('capture', (await this.own(input)).name, input);
  }

  private tool(): ImageTool {
    return new ImageTool(readImager(this.fields, this.task.provider.name), this.signal);
  }

  private machines(): readonly RealMachine[] {
    return readMachines(this.fields, this.task.provider.name);
  }

  private async nameOf(key: string): Promise<string | undefined> {
    return Object.entries(await this.claims.held()).find(([, holder]) => holder === key)?.[0];
  }

  /** The machine that the key has. @throws PluginError Invalid where it has none, or the configuration knows it no more. */
  private async own({ key }: MachineInput): Promise<RealMachine> {
    const name = await this.nameOf(key);
    if (name === undefined) throw new PluginError('Invalid', `provider ${this.task.provider.name} has given this machine back`);
    const machine = this.machines().find((candidate) => candidate.name === name);
    if (machine === undefined) throw new PluginError('Invalid', `machine ${name} is no longer among the machines of provider ${this.task.provider.name}; put it back into heddle.yaml`);
    return machine;
  }
}
