import type { Labels } from '../../model/cluster/labels.js';
import type { JsonObject } from '../../model/json.js';
import type { DriftKind } from '../../model/machine/intents.js';
import type { Registration } from '../../model/machine/state.js';
import type { ImageRef } from '../../model/machine/image.js';
import { CliError } from '../errors.js';
import type { ServerOptions, WaitOptions } from '../configuration.js';
import type { Pairs } from '../pairs.js';
import type { Session } from '../session.js';
import { verb } from '../verb.js';
import { finish, outcomeShown } from './follow.js';

export interface AddOptions extends ServerOptions, WaitOptions {
  readonly provider: string;
  readonly flavor: string;
  readonly image: string;
  readonly field?: Pairs;
  readonly system: string;
  readonly correct?: readonly DriftKind[];
  readonly defaultImage?: ImageRef;
  readonly group?: readonly string[];
  readonly label?: Labels;
  /** An inventory file, in place of a name. */
  readonly from?: string;
  readonly atOnce?: number;
}

/** Registers a machine, or those of an inventory file. */
export async function add(name: string | undefined, options: AddOptions): Promise<number> {
  const { from: file } = options;
  if ((name === undefined) === (file === undefined))
    throw new CliError('Usage', 'give the name of a machine, or --from FILE with the names of several', {
      next: 'heddle machine add --help',
    });
  if (name !== undefined) return addOne(name, options);
  const { addAll } = await import('./add-from.js');
  return addAll(file ?? '', options);
}

/** The machine that the options describe. */
export function registrationOf({
  provider,
  flavor,
  image,
  field = [],
  system,
  correct,
  defaultImage,
  group: groups,
  label: labels,
}: AddOptions): Registration {
  const fields = readFields(field);
  return {
    provider,
    flavor,
    image,
    fields,
    system: system === 'none' ? null : system,
    correct,
    defaultImage,
    groups,
    labels,
  };
}

const addOne = verb(
  async (session: Session, name: string, options: AddOptions) => {
    const { operation } = await session.client.machines.add(name, registrationOf(options));
    return finish(session, name, operation, options);
  },
  { ...outcomeShown, worker: true },
);

type MoveOptions = ServerOptions &
  Pick<AddOptions, 'provider' | keyof WaitOptions> &
  Partial<Pick<AddOptions, 'flavor' | 'image' | 'field'>>;

/** Moves a machine to another provider account. */
export const move = verb(
  async (session: Session, name: string, options: MoveOptions) => {
    const { provider, flavor, image, field } = options;
    const to = { provider, flavor, image, fields: field === undefined ? undefined : readFields(field) };
    const { operation } = await session.client.machines.operate(name, { kind: 'move', to });
    return finish(session, name, operation, options);
  },
  { ...outcomeShown, worker: true },
);

function readFields(pairs: Pairs): JsonObject {
  return Object.fromEntries(pairs.map(([name, text]) => [name, readValue(text)]));
}

/** Numbers, true, lists and mappings are written as JSON; everything else is text. */
function readValue(text: string): JsonObject[string] {
  try {
    return JSON.parse(text) as JsonObject[string];
  } catch {
    return text;
  }
}
