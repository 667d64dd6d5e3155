import { z } from 'zod';
import { unsafeText } from '../../../model/safe-text.js';
import type { BootTarget, Outcome, PowerReading } from '../../contract.js';
import {
  PowerDriver,
  RealMachines,
  runCommand,
  type PowerControls,
  type RealMachine,
  type Told,
} from '../../bare-metal/index.js';
import { parseFields, port } from '../../provider-base/fields.js';

const argument = z
  .string()
  .refine((text) => unsafeText(text) === undefined, {
    error: 'text without blanks and quotes that does not begin with -',
  });
const bmcSchema = z.strictObject({
  host: argument,
  port: port.default(623),
  user: argument,
  password: z.string(),
  cipher: z.int().min(0).max(17).default(3),
});
/** What a controller says when it has no power cycle: not in this state, or not at all. */
const noCycle = /not supported in present state|Invalid data field|Invalid command|0xd5|0xcc|0xc1/i;

/** Real machines whose management controllers speak IPMI 2.0 over the network, by the program ipmitool. */
export class IpmiProvider extends RealMachines {
  protected override power(machine: RealMachine): PowerDriver {
    const tell = async (...words: readonly string[]): Promise<Told> => {
      const { code, text } = await this.#ask(machine, ['chassis', 'power', ...words]);
      if (code === 0) return { told: true };
      // Only the controller's own answer is a refusal; silence proves nothing.
      if (noCycle.test(text)) return { told: false, why: text };
      return { told: true };
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
    const { code, text } = await this.#ask(machine, [
      'chassis',
      'bootdev',
      target === 'disk' ? 'disk' : 'pxe',
    ]);
    return code === 0 ? { answer: 'done' } : { answer: 'unknown', why: text };
  }

  override async bootTargetOf(machine: RealMachine): Promise<string | undefined> {
    const { code, text } = await this.#ask(machine, ['chassis', 'bootparam', 'get', '5']);
    const selector = /Boot Device Selector : (.+)/.exec(text)?.[1]?.trim();
    return code === 0 && selector !== undefined ? selector.toLowerCase() : undefined;
  }

  async #readPower(machine: RealMachine): Promise<PowerReading> {
    const { code, text } = await this.#ask(machine, ['chassis', 'power', 'status']);
    const power = /Chassis Power is (on|off)/i.exec(text)?.[1]?.toLowerCase();
    return code === 0 && (power === 'on' || power === 'off') ? { power } : { power: 'unknown', why: text };
  }

  /**
   * Runs one command. The cipher is fixed, since probing it takes seconds; an unreachable controller is
   * reported after six. A wrong password and an unreachable controller look alike, so both count as silence.
   */
  async #ask(
    { name, bmc: written }: RealMachine,
    words: readonly string[],
  ): Promise<{ readonly code: number | null; readonly text: string }> {
    const bmc = parseFields(bmcSchema, written, `bmc of machine ${name}`);
    const command = [
      'ipmitool',
      '-I',
      'lanplus',
      '-H',
      bmc.host,
      '-p',
      String(bmc.port),
      '-U',
      bmc.user,
      '-E',
      '-C',
      String(bmc.cipher),
      '-N',
      '1',
      '-R',
      '2',
      ...words,
    ];
    await this.calls.take();
    const { code, stdout, stderr } = await runCommand(command, {
      signal: this.signal,
      environment: { IPMI_PASSWORD: bmc.password },
    });
    if (code === null && /ENOENT/.test(stderr))
      return { code, text: 'ipmitool is not installed on this worker' };
    const said = `${stdout.trim()} ${stderr.trim()}`.trim();
    this.log.debug(`ipmitool ${words.join(' ')} of ${name}`, { code: code ?? -1, said: said.slice(0, 300) });
    return {
      code,
      text:
        code === 0
          ? stdout
          : `the controller of ${name} at ${bmc.host}:${bmc.port}: ${said.split('\n').at(-1)?.slice(0, 300) ?? ''}`,
    };
  }
}
