import type { Knowledge, Outcome, SizeReading } from '../../model/machine/answer.js';
import type { ImageInput } from '../machine-abilities.js';
import type { Imager } from './machine-fields.js';
import { fillWords } from '../fill-words.js';
import { runCommand, type CommandResult } from './run-command.js';

/** The administrator's programs for images, as the engine's questions. */
export class ImageTool {
  readonly #imager: Imager;
  readonly #signal: AbortSignal;

  constructor(imager: Imager, signal: AbortSignal) {
    this.#imager = imager;
    this.#signal = signal;
  }

  async exists(machine: string, input: ImageInput): Promise<Knowledge> {
    const result = await this.#run('exists', machine, input);
    if (result === undefined) return { is: 'unknown', why: missing('exists') };
    if (result.code === 0) return { is: 'yes' };
    return result.code === 1 ? { is: 'no' } : { is: 'unknown', why: describeExit(result) };
  }

  async size(machine: string, input: ImageInput): Promise<SizeReading> {
    const result = await this.#run('size', machine, input);
    if (result === undefined) return { why: missing('size') };
    const sizeMb = /^\s*(\d{1,9})\s*$/.exec(result.stdout)?.[1];
    return result.code === 0 && sizeMb !== undefined
      ? { sizeMb: Number(sizeMb) }
      : { why: `no number of megabytes came: ${describeExit(result)}` };
  }

  async execute(what: 'load' | 'capture' | 'retrieve', machine: string, input: ImageInput): Promise<Outcome> {
    const result = await this.#run(what, machine, input);
    if (result === undefined) return { answer: 'not done', why: missing(what) };
    if (result.code === 0) return { answer: 'done' };
    return { answer: result.code === 1 ? 'not done' : 'unknown', why: describeExit(result) };
  }

  async #run(
    what: keyof Imager,
    machine: string,
    { image, providerImage, token, progress }: ImageInput,
  ): Promise<CommandResult | undefined> {
    const command = this.#imager[what];
    if (command === undefined) return undefined;
    const values: Readonly<Record<string, string>> = {
      machine,
      image: image.name,
      revision: image.revision,
      providerImage,
      token,
    };
    const environment = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`HEDDLE_${name.toUpperCase()}`, value]),
    );
    return runCommand(fillWords(command, values), {
      signal: this.#signal,
      environment,
      onLine: what === 'size' ? undefined : progress,
    });
  }
}

function missing(what: string): string {
  return `the account's imager has no ${what}; add it to heddle.yaml`;
}

function describeExit({ code, stdout, stderr }: CommandResult): string {
  const last = (stderr.trim() || stdout.trim()).split('\n').at(-1)?.slice(-300) ?? '';
  return `it ended with ${code ?? 'no exit code'}${last === '' ? '' : `: ${last}`}`;
}
