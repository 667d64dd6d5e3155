import type { ServerOptions } from '../configuration.js';
import type { Session } from '../session.js';
import { confirm, type Confirmation } from '../terminal.js';
import { verb } from '../verb.js';

type ConfirmEndedOptions = ServerOptions & Confirmation & { readonly host: string };

/** Lets Heddle go on where only a person can know that a program no longer runs. */
export const confirmEnded = verb(
  async ({ client }: Session, name: string, options: ConfirmEndedOptions) => {
    const { host } = options;
    await confirm(
      `Does no program for machine ${name} run on worker host ${host} any more? One that does would overwrite its disk. If the program was a load of imaging, is the machine off? Its rescue system would go on writing.`,
      options,
    );
    return client.machines.confirmEnded(name, host);
  },
  { print: (output, { machine, what }) => output.line(`machine ${machine}: ${what} counts as ended`) },
);
