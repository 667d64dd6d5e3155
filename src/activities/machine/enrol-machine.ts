import { PluginError } from '../../plugins/errors.js';
import { acceptFromProvider } from '../provider/references.js';
import { readPower } from '../../schema/machine-answer.js';
import { refuseFailure } from '../results.js';
import type { MachineHandler } from '../task-call.js';
import { askProvider, requireAbility } from './call-provider.js';

/**
 * ENROL: a machine that exists already is registered when its controller accepts the credentials and reports the
 * power. It may be off, or have no system.
 */
export const enrolMachine: MachineHandler = (call) =>
  askProvider(call, async (open) => {
    const { plugin, provider, machine, request } = open;
    const power = readPower(await requireAbility(open, 'powerStatus')(machine), open.source('powerStatus'));
    if (power.power === 'unknown')
      throw new PluginError('Retryable', `its power is not known: ${power.why ?? 'no reason was given'}`);
    const taken = await acceptFromProvider(
      open.parts,
      request.provider.name,
      await provider.confirm(machine),
      { plugin: plugin.descriptor, action: 'CONFIRM', config: request.config },
    );
    refuseFailure(plugin.descriptor.name, 'Invalid', taken);
    return { payload: taken.result, power };
  });
