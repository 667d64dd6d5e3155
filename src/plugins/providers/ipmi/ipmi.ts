import { setTimeout as pause } from 'node:timers/promises';
import type { FieldFault } from '../../../model/field-fault.js';
import {
  PluginError,
  type BootDevice,
  type BootTarget,
  type ConsoleCommand,
  type MachineInput,
  type Hardware,
  type Outcome,
  type PowerReading,
  type ProviderAbilities,
} from '../../contract.js';
import {
  ControllerLogin,
  PowerDriver,
  RealMachines,
  accountFaults,
  ipmiSchema,
  ipmitool,
  runCommand,
  type PowerControls,
  type RealMachine,
  type RealMachineFields,
  type CommandResult,
} from '../../bare-metal/index.js';
import { readFru, readSensors } from './hardware.js';
import { parseFields } from '../../provider-base/fields.js';

/** What ipmitool prints if the controller does not support a power cycle, in this state or at all. */
const noCycle = /not supported in present state|Invalid data field|Invalid command|0xd5|0xcc|0xc1/i;

/** What ipmitool prints, with -v, for a wrong password or user. */
const refusedLogin =
  /RAKP 2 HMAC is invalid|RAKP \d message indicates an error : (?:unauthorized|invalid role)[^\n]*/i;

/**
 * What ipmitool prints if an answer arrived after its timeout. It then treats the late answer as the one to
 * its retry, and reports a wrong password.
 */
const lateAnswer = /no response from|Request Match NOT FOUND/i;

/**
 * Pauses after a rejected login, in ms; a rejection after the last one is final. A busy controller may reject
 * a login with the right password, and locks the account after a few attempts.
 */
const refusedPauses = [1_000, 4_000] as const;

/** Longest wait for one answer of a controller that answers late, in seconds. */
const longestTimeout = 20;

/** Physical machines with IPMI 2.0 management controllers, through ipmitool. */
export class IpmiProvider extends RealMachines implements Partial<ProviderAbilities> {
  static checkFields = (fields: Partial<RealMachineFields>): readonly FieldFault[] =>
    accountFaults(fields, ipmiSchema);

  protected override power(machine: RealMachine): PowerDriver {
    const command = async (...words: readonly string[]): Promise<CommandResult> => {
      const { code, text } = await this.#ask(machine, ['chassis', 'power', ...words]);
      if (code === 0) return { accepted: true };
      // Only the controller's own answer is a refusal; silence proves nothing.
      return { accepted: !noCycle.test(text), why: text };
    };
    const controls: PowerControls = {
      read: () => this.#readPower(machine),
      on: () => command('on'),
      off: () => command('off'),
      shutDown: () => command('soft'),
      cycle: () => command('cycle'),
    };
    return new PowerDriver(controls, this.powerLimits(), this.signal);
  }

  override async setBootOf(machine: RealMachine, target: BootTarget): Promise<Outcome> {
    return this.bootOnceOf(machine, target === 'disk' ? 'disk' : 'pxe');
  }

  /** ipmitool uses the same names as `BootDevice`. */
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

  /** A controller may have neither an inventory nor sensors, and may list only the first device. */
  override async hardwareOf(machine: RealMachine): Promise<Hardware> {
    const { power, why } = await this.#readPower(machine);
    if (power === 'unknown')
      throw new PluginError('Retryable', why ?? `the controller of ${machine.name} gave no reason`);
    const print = async (...words: readonly string[]): Promise<string> =>
      (await this.#run(machine, words, {})).printed;
    const found = readFru(await print('fru', 'print'));
    const fru = found.model === undefined ? readFru(await print('fru', 'print', '0')) : found;
    const sensors = readSensors(await print('sdr', 'list'));
    return { ...fru, ...(sensors.length === 0 ? {} : { sensors }) };
  }

  override async bootTargetOf(machine: RealMachine): Promise<string | undefined> {
    const { code, text } = await this.#ask(machine, ['chassis', 'bootparam', 'get', '5']);
    const selector = /Boot Device Selector : (.+)/.exec(text)?.[1]?.trim();
    return code === 0 && selector !== undefined ? selector.toLowerCase() : undefined;
  }

  async #readPower(machine: RealMachine): Promise<PowerReading> {
    const { printed, text } = await this.#ask(machine, ['chassis', 'power', 'status']);
    // Also if the end of the session was lost.
    const power = /Chassis Power is (on|off)/i.exec(printed)?.[1]?.toLowerCase();
    return power === 'on' || power === 'off' ? { power } : { power: 'unknown', why: text };
  }

  /**
   * Distinguishes a rejected login from silence and from a late answer. After a late answer the next login
   * waits longer.
   * @throws PluginError Auth if the controller rejects the credentials.
   */
  async #ask(machine: RealMachine, words: readonly string[]): Promise<Answer> {
    const login = loginOf(machine);
    login.check();
    let timeoutFactor = 1;
    for (let tries = 0; ; tries += 1) {
      // Only with -v does ipmitool say why a login failed.
      const answer = await this.#run(machine, ['-v', ...words], { timeoutFactor });
      const refused = answer.code === 0 ? undefined : refusedLogin.exec(answer.said)?.[0];
      if (answer.code === 0) login.accepted();
      if (refused === undefined) return answer;
      const pauseMs = refusedPauses[tries];
      const isLate = lateAnswer.test(answer.said);
      if (pauseMs === undefined && isLate) return answer;
      if (pauseMs === undefined)
        throw login.refused(
          `the controller of ${machine.name} rejected the login ${refusedPauses.length + 1} times: ${refused}; check its user and password in heddle.yaml`,
        );
      if (isLate) timeoutFactor *= 2;
      else await pause(pauseMs, undefined, { signal: this.signal });
    }
  }

  async #run(
    { name, bmc: written }: RealMachine,
    words: readonly string[],
    { timeoutFactor = 1 }: { readonly timeoutFactor?: number },
  ): Promise<Answer> {
    const fields = parseFields(ipmiSchema, written, `bmc of machine ${name}`);
    const timeoutSeconds = Math.max(
      fields.timeoutSeconds,
      Math.min(fields.timeoutSeconds * timeoutFactor, longestTimeout),
    );
    const { command, environment } = ipmitool({ ...fields, timeoutSeconds }, words);
    await this.calls.take();
    const { code, stdout, stderr } = await runCommand(command, { signal: this.signal, environment });
    if (code === null && /ENOENT/.test(stderr))
      return { code, text: 'ipmitool is not installed on this worker', said: stderr, printed: '' };
    const said = `${stdout.trim()} ${stderr.trim()}`.trim();
    this.log.debug(`ipmitool ${words.join(' ')} of ${name}`, { code: code ?? -1, said: said.slice(0, 300) });
    const where = `the controller of ${name} at ${fields.host}:${fields.port}`;
    return {
      code,
      said,
      printed: stdout,
      text: code === 0 ? stdout : `${where}: ${said.split('\n').at(-1)?.slice(0, 300) ?? ''}`,
    };
  }
}

function loginOf({ name, bmc }: RealMachine): ControllerLogin {
  const { host, port, user, password } = parseFields(ipmiSchema, bmc, `bmc of machine ${name}`);
  return new ControllerLogin(host, port, user, password);
}

interface Answer {
  readonly code: number | null;
  /** What was printed; of a failure, where and why. */
  readonly text: string;
  readonly said: string;
  readonly printed: string;
}
