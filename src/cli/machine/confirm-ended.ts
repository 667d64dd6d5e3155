import type { ServerOptions } from '../configuration.js';
import type { Session } from '../session.js';
import { confirm, type Confirmation } from '../terminal.js';
import { verb } from '../verb.js';

type ConfirmEndedOptions = ServerOptions & Confirmation & { readonly host: string };

/** Lets Heddle continue when only a person can know that a program has ended. */
export const confirmEnded = verb(
  async ({ client }: Session, name: string, options: ConfirmEndedOptions) => {
    const { host } = options;
    await confirm(
      `Have all programs for machine ${name} on worker host ${host} ended? A running one would overwrite its disk. If the program was a load of imaging, is the machine off? Its rescue system would continue to write.`,
      options,
    );
    return client.machines.confirmEnded(name, host);
  },
  { print: (output, { machine, what }) => output.line(`machine ${machine}: ${what} is recorded as ended`) },
);
