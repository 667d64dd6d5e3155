import { HeddleError } from '../../client/errors.js';
import type { Registration } from '../../model/machine/state.js';
import { isPluginError } from '../../plugins/errors.js';
import { readInventory } from '../../plugins/inventory/read-inventory.js';
import { readRegistrations, type FileRegistration } from '../../schema/machine/registration.js';
import { ProblemsError } from '../../schema/problem.js';
import { CliError } from '../errors.js';
import type { Session } from '../session.js';
import { verb } from '../verb.js';
import { batchShown, runBatch, type MachineResult } from './batch.js';
import { formatState, isUnregistered } from './machine-text.js';
import { registrationOf, type AddOptions } from './registration.js';

/**
 * Registers the machines of an inventory file, or nothing if anything in the file is wrong. Machines that are
 * registered already are left as they are, and registrations that failed are retried.
 */
export async function addAll(file: string, options: AddOptions): Promise<number> {
  return registerAll(await readMachines(file, registrationOf(options)), options);
}

const registerAll = verb(
  (session: Session, machines: readonly FileRegistration[], options: AddOptions) => {
    const registrations = new Map(machines.map(({ name, registration }) => [name, registration]));
    return runBatch(
      session,
      [...registrations.keys()],
      { wait: options.wait, atOnce: options.atOnce },
      {
        what: 'registrations',
        begin: (name) => register(session, name, registrations.get(name) as Registration),
      },
    );
  },
  { ...batchShown, worker: true },
);

async function readMachines(file: string, defaults: Registration): Promise<readonly FileRegistration[]> {
  const entries = await readInventory({ file, log: { warn } }).catch((cause: unknown) => {
    if (isPluginError(cause)) throw new CliError('Usage', cause.message, { cause, remedy: cause.remedy });
    throw cause;
  });
  const reading = readRegistrations(entries, file, defaults);
  if (!reading.ok)
    throw new ProblemsError(`${file} cannot be used, and nothing is registered:`, reading.problems);
  return reading.machines;
}

function warn(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function register(
  { client: { machines } }: Session,
  name: string,
  registration: Registration,
): Promise<string | MachineResult> {
  const known = await machines.show(name).catch((error: unknown) => {
    if (error instanceof HeddleError && error.code === 'NotFound') return undefined;
    throw error;
  });
  if (known === undefined || known.removed === true || isUnregistered(known))
    return (await machines.add(name, registration)).operation;
  if (known.provider !== registration.provider)
    return {
      machine: name,
      result: 'refused',
      why: `it is registered from provider ${known.provider}; 'heddle machine move ${name} --provider ${registration.provider}' moves it`,
    };
  const { operation, history, state } = known;
  if (operation?.intent.kind === 'register' || operation?.intent.kind === 'retry') return operation.id;
  const last = history[0];
  const isIncomplete =
    state === 'failed' && (last?.intent.kind === 'register' || last?.intent.kind === 'retry');
  if (isIncomplete) return (await machines.operate(name, { kind: 'retry' })).operation;
  return { machine: name, result: 'unchanged', state: formatState(known), power: known.power };
}
