import {
  PluginError,
  type BootDevice,
  type BootTarget,
  type CanOpenConsole,
  type ConsoleCommand,
  type MachineInput,
  type Hardware,
  type Outcome,
  type PowerReading,
} from '../../contract.js';
import {
  PowerDriver,
  RealMachines,
  ipmiSchema,
  ipmitool,
  runCommand,
  type PowerControls,
  type RealMachine,
  type Told,
} from '../../bare-metal/index.js';
import { readFru, readSensors } from './hardware.js';
import { parseFields } from '../../provider-base/fields.js';

/** What a controller says when it has no power cycle: not in this state, or not at all. */
const noCycle = /not supported in present state|Invalid data field|Invalid command|0xd5|0xcc|0xc1/i;

/** What ipmitool prints, with -v, for a wrong password or user. */
const refusedLogin =
  /RAKP 2 HMAC is invalid|RAKP \d message indicates an error : (?:unauthorized|invalid role)[^\n]*/i;

/** What ipmitool prints if the controller is silent. */
const noAnswer = /Unable to establish|Error: Unable|timeout/i;

/**
 * Logins after which a refusal counts. A busy controller may refuse one with the right password, and locks the
 * account after a few.
 */
const mostLogins = 3;

/** Real machines whose management controllers speak IPMI 2.0 over the network, by the program ipmitool. */
export class IpmiProvider extends RealMachines implements CanOpenConsole {
  protected override power(machine: RealMachine): PowerDriver {
    const tell = async (...words: readonly string[]): Promise<Told> => {
      const { code, text } = await this.#ask(machine, ['chassis', 'power', ...words]);
      if (code === 0) return { told: true };
      // Only the controller's own answer is a refusal; silence proves nothing.
      return { told: !noCycle.test(text), why: text };
    };
    const controls: PowerControls = {
      read: () => this.#readPower(machine),
      on: () => tell('on'),
      off: () => tell('off'),
      shutDown: () => tell('soft'),
      cycle: () => tell('cycle'),
    };
    return new PowerDriver(controls, this.powerLimits(), this.signal);
  }

  override async setBootOf(machine: RealMachine, target: BootTarget): Promise<Outcome> {
    return this.bootOnceOf(machine, target === 'disk' ? 'disk' : 'pxe');
  }

  /** ipmitool's words are those of `BootDevice`. */
  override async bootOnceOf(machine: RealMachine, device: BootDevice): Promise<Outcome> {
    // Without this, controllers forget it after 60 seconds (IPMI 2.0, boot option 3). Some refuse it.
    await this.#ask(machine, ['raw', '0x00', '0x08', '0x03', '0x08']);
    const { code, text } = await this.#ask(machine, ['chassis', 'bootdev', device]);
    return code === 0 ? { answer: 'done' } : { answer: 'unknown', why: text };
  }

  /** Serial over LAN; the escape sequence ~. ends it. */
  async console(input: MachineInput): Promise<ConsoleCommand> {
    const { name, bmc } = await this.own(input);
    return ipmitool(parseFields(ipmiSchema, bmc, `bmc of machine ${name}`), ['sol', 'activate']);
  }

  /** A controller may have neither an inventory nor sensors, and list no devices but the first. */
  override async hardwareOf(machine: RealMachine): Promise<Hardware> {
    const all = await this.#ask(machine, ['fru', 'print']);
    if (all.code === null || (all.code !== 0 && noAnswer.test(all.said)))
      throw new PluginError('Retryable', all.text);
    const found = readFru(all.printed);
    const fru =
      found.model === undefined ? readFru((await this.#ask(machine, ['fru', 'print', '0'])).printed) : found;
    const sensors = readSensors((await this.#ask(machine, ['sdr', 'list'])).printed);
    return { ...fru, ...(sensors.length === 0 ? {} : { sensors }) };
  }

  override async bootTargetOf(machine: RealMachine): Promise<string | undefined> {
    const { code, text } = await this.#ask(machine, ['chassis', 'bootparam', 'get', '5']);
    const selector = /Boot Device Selector : (.+)/.exec(text)?.[1]?.trim();
    return code === 0 && selector !== undefined ? selector.toLowerCase() : undefined;
  }

  /** @throws PluginError Auth if the controller refuses the credentials. */
  async #readPower(machine: RealMachine): Promise<PowerReading> {
    let refused: string | undefined;
    for (let login = 1; login <= mostLogins; login += 1) {
      // Only with -v does ipmitool tell a refused login from silence.
      const { code, text, said } = await this.#ask(machine, ['-v', 'chassis', 'power', 'status']);
      refused = code === 0 ? undefined : refusedLogin.exec(said)?.[0];
      if (refused === undefined) return readPower(code, text);
    }
    throw new PluginError(
      'Auth',
      `the controller of ${machine.name} refused the login ${mostLogins} times: ${refused}; check its user and password in heddle.yaml`,
    );
  }

  async #ask(
    { name, bmc: written }: RealMachine,
    words: readonly string[],
  ): Promise<{
    readonly code: number | null;
    readonly text: string;
    readonly said: string;
    readonly printed: string;
  }> {
    const bmc = parseFields(ipmiSchema, written, `bmc of machine ${name}`);
    const { command, environment } = ipmitool(bmc, words);
    await this.calls.take();
    const { code, stdout, stderr } = await runCommand(command, { signal: this.signal, environment });
    if (code === null && /ENOENT/.test(stderr))
      return { code, text: 'ipmitool is not installed on this worker', said: stderr, printed: '' };
    const said = `${stdout.trim()} ${stderr.trim()}`.trim();
    this.log.debug(`ipmitool ${words.join(' ')} of ${name}`, { code: code ?? -1, said: said.slice(0, 300) });
    return {
      code,
      said,
      printed: stdout,
      text:
        code === 0
          ? stdout
          : `the controller of ${name} at ${bmc.host}:${bmc.port}: ${said.split('\n').at(-1)?.slice(0, 300) ?? ''}`,
    };
  }
}

function readPower(code: number | null, text: string): PowerReading {
  const power = /Chassis Power is (on|off)/i.exec(text)?.[1]?.toLowerCase();
  return code === 0 && (power === 'on' || power === 'off') ? { power } : { power: 'unknown', why: text };
}
