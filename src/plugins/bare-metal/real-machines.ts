import type { Knowledge, Outcome, PowerReading, SizeReading } from '../../model/machine/answer.js';
import type { TaskResult } from '../../model/node/task.js';
import type { MachineInput, PluginContext, ProviderAbilities } from '../contract.js';
import { PluginError } from '../errors.js';
import type { BootDevice, BootTarget, Hardware, DiskToErase, ImageInput } from '../machine-abilities.js';
import { resolveAddress } from '../provider-base/machines.js';
import { ClaimingProvider } from './claiming-provider.js';
import { ImageTool } from './image-tool.js';
import { readImaging } from './imaging/imaging-fields.js';
import { NetworkImager } from './imaging/network-imager.js';
import { MachineRuns, throwUnknown } from './machine-runs.js';
import type { RealMachineFields } from './field-types.js';
import { readErase, readMachines, type RealMachine } from './machine-fields.js';
import { powerLimitsOf, type PowerDriver, type PowerLimits } from './power-driver.js';

/** A single reading of a controller may be outdated or wrong. */
const equalReadings = 2;

/**
 * Physical machines with management controllers: CREATE claims a free one, DELETE releases it. Subclasses
 * implement the controllers' protocols; images are written over the network, or by the administrator's
 * programs.
 */
export abstract class RealMachines
  extends ClaimingProvider<RealMachine, RealMachineFields>
  implements Partial<ProviderAbilities>
{
  protected readonly word = 'machine';
  protected readonly named = this.fields.machine;
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
    const { images, programs } = await this.imager(input);
    return (images ?? programs).exists(input);
  }

  async imageSize(input: ImageInput): Promise<SizeReading> {
    const { images, programs } = await this.imager(input);
    return (images ?? programs).size(input);
  }

  async retrieveImage(input: ImageInput): Promise<Outcome> {
    const { network, programs } = await this.imager(input);
    return network === undefined || programs.has('retrieve')
      ? programs.execute('retrieve', input)
      : network.retrieve(input);
  }

  /** The account's programs check this only in `load`. */
  async verifyImage(input: ImageInput): Promise<Outcome> {
    const { network } = await this.imager(input);
    return network === undefined ? { answer: 'done' } : network.verify(input);
  }

  async load(input: ImageInput): Promise<Outcome> {
    const { network, programs } = await this.imager(input);
    return network === undefined ? programs.execute('load', input) : network.load(input);
  }

  async capture(input: ImageInput): Promise<Outcome> {
    return (await this.imager(input)).programs.execute('capture', input);
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

  /** The machine, after programs of earlier tasks on it have ended. */
  private async settled(input: MachineInput): Promise<RealMachine> {
    const machine = await this.own(input);
    await this.settle(machine.name);
    return machine;
  }

  protected powerLimits(): PowerLimits {
    return powerLimitsOf(this.fields, equalReadings);
  }

  /** The account's programs for images, and the network imager if the account has one. */
  private async imager(input: MachineInput): Promise<{
    readonly programs: ImageTool;
    readonly network: NetworkImager | undefined;
    /** The network imager, which replaces the programs. */
    readonly images: NetworkImager | undefined;
  }> {
    const machine = await this.own(input);
    const { provider, attempt } = this.task;
    const { imager } = this.fields;
    const imaging = readImaging(this.fields.imaging, provider.name);
    const common = { runs: this.runs(machine.name), signal: this.signal, detach: this.#context.detach };
    const programs = new ImageTool({ ...common, imager, machine: machine.name });
    if (imaging === undefined) return { programs, network: undefined, images: undefined };
    const boot = (beforeOn: () => Promise<void>): Promise<void> => this.#bootFromNetwork(machine, beforeOn);
    const isOff = (): Promise<boolean> =>
      this.power(machine)
        .status()
        .then(
          ({ power }) => power === 'off',
          // The image is on the disk; only wait for the machine to end.
          () => false,
        );
    const network = new NetworkImager({ ...common, imaging, machine, attempt, boot, isOff });
    return { programs, network, images: imager['exists'] === undefined ? network : undefined };
  }

  /** Starts from off, because a running machine may be in an earlier rescue system. */
  async #bootFromNetwork(machine: RealMachine, beforeOn: () => Promise<void>): Promise<void> {
    await this.#switchOff(machine);
    insist(await this.setBootOf(machine, 'image'), `machine ${machine.name} must boot from the network`);
    await beforeOn();
    const on = await this.power(machine).on().catch(throwUnknown);
    insist(on, `machine ${machine.name} must be switched on`);
  }

  async #switchOff(machine: RealMachine): Promise<void> {
    insist(
      await this.power(machine).off(),
      `machine ${machine.name} must be off, because its rescue system writes its disk`,
    );
  }

  private runs(name: string): MachineRuns {
    const { runs: records } = this.#context;
    const { provider, nodeId } = this.task;
    if (records === undefined)
      throw new PluginError('Invalid', `provider type ${provider.type} requires an engine that stores runs`);
    const switchOff = async (): Promise<void> => this.#switchOff(await this.#named(name));
    return new MachineRuns({ records, account: provider.name, machine: name, nodeId, switchOff });
  }

  protected things(): Promise<readonly RealMachine[]> {
    return readMachines(this.fields, this.task.provider.name, this.log);
  }

  protected override async own(input: MachineInput): Promise<RealMachine> {
    return this.#withSecrets(await super.own(input));
  }

  async #named(name: string): Promise<RealMachine> {
    const machine = (await this.things()).find((one) => one.name === name);
    if (machine === undefined)
      throw new PluginError(
        'Invalid',
        `machine ${name} must be switched off but is no longer a machine of provider ${this.task.provider.name}; add it again to heddle.yaml or its inventory`,
      );
    return this.#withSecrets(machine);
  }

  /** The machine with the resolved secrets of its controller. */
  async #withSecrets(machine: RealMachine): Promise<RealMachine> {
    const { name, inventory, bmc } = machine;
    if (inventory === undefined) return machine;
    const { resolveReferences } = this.#context;
    if (resolveReferences === undefined)
      throw new PluginError('Invalid', 'an inventory requires an engine that resolves references');
    const place = `controller of machine ${name} in inventory ${inventory}`;
    return { ...machine, bmc: await resolveReferences(bmc, place) };
  }
}

/** @throws PluginError Retryable if it was not done. */
function insist({ answer, why }: Outcome, what: string): void {
  if (answer !== 'done')
    throw new PluginError('Retryable', `${what}: ${why ?? 'the controller gave no reason'}`, {
      retryAfterMs: 2_000,
    });
}
