import type { Knowledge, Outcome, SizeReading } from '../../model/machine/answer.js';
import type { DetachedRun, RunEnd } from '../../detached/detached-run.js';
import { PluginError } from '../errors.js';
import { fillWords } from '../fill-words.js';
import type { ImageInput } from '../machine-abilities.js';
import type { RealMachineFields } from './field-types.js';
import type { MachineRuns } from './machine-runs.js';
import { programEnvironment, programExits, runCommand } from './run-command.js';

interface ImageToolOptions {
  /** Exit code 0 means done or present, 10 certainly not; any other code means unknown. */
  readonly imager: RealMachineFields['imager'];
  readonly machine: string;
  readonly runs: MachineRuns;
  readonly signal: AbortSignal;
  readonly detach: AbortSignal | undefined;
}

/** The administrator's programs for images, run as short commands and as detached runs. */
type ImageProgram = 'exists' | 'size' | 'load' | 'capture' | 'retrieve';

export class ImageTool {
  readonly #options: ImageToolOptions;

  constructor(options: ImageToolOptions) {
    this.#options = options;
  }

  has(what: ImageProgram): boolean {
    return this.#options.imager[what] !== undefined;
  }

  async exists(input: ImageInput): Promise<Knowledge> {
    const result = await this.#ask('exists', input);
    if (result === undefined) return { is: 'unknown', why: missing('exists') };
    if (result.code === programExits.yes) return { is: 'yes' };
    return result.code === programExits.no ? { is: 'no' } : { is: 'unknown', why: describeExit(result) };
  }

  async size(input: ImageInput): Promise<SizeReading> {
    const result = await this.#ask('size', input);
    if (result === undefined) return { why: missing('size') };
    const sizeMb = /^\s*(\d{1,9})\s*$/.exec(result.stdout)?.[1];
    return result.code === programExits.yes && sizeMb !== undefined
      ? { sizeMb: Number(sizeMb) }
      : { why: `it printed no number of megabytes: ${describeExit(result)}` };
  }

  async execute(what: 'load' | 'capture' | 'retrieve', input: ImageInput): Promise<Outcome> {
    const filled = this.#fill(what, input);
    if (filled === undefined) return { answer: 'not done', why: missing(what) };
    const { machine, runs, signal, detach } = this.#options;
    const { image, token, progress } = input;
    const order: Omit<DetachedRun, 'folder'> = {
      what: `${what} of ${image.name}@${image.revision} on ${machine}`,
      token,
      program: () => filled,
      // A program with an unknown outcome is started again with the same token.
      isAnswer: (code) => Object.values<number | null>(programExits).includes(code),
      progress,
      signal,
      detach,
    };
    const end = await runs.run(order);
    if (end.code === programExits.yes) return { answer: 'done' };
    if (end.code === programExits.noImage) throw new PluginError('ImageUnusable', describeEnd(end));
    return { answer: end.code === programExits.no ? 'not done' : 'unknown', why: describeEnd(end) };
  }

  async #ask(
    what: 'exists' | 'size',
    input: ImageInput,
  ): Promise<Awaited<ReturnType<typeof runCommand>> | undefined> {
    const filled = this.#fill(what, input);
    return filled === undefined
      ? undefined
      : runCommand(filled.words, { signal: this.#options.signal, environment: filled.environment });
  }

  #fill(
    what: ImageProgram,
    { image, providerImage, token }: ImageInput,
  ): ReturnType<DetachedRun['program']> | undefined {
    const { imager, machine } = this.#options;
    const command = imager[what];
    if (command === undefined) return undefined;
    const values: Readonly<Record<string, string>> = {
      machine,
      image: image.name,
      revision: image.revision,
      providerImage,
      token,
    };
    return {
      words: fillWords(command, values),
      environment: {
        ...programEnvironment,
        ...Object.fromEntries(
          Object.entries(values).map(([name, value]) => [`HEDDLE_${name.toUpperCase()}`, value]),
        ),
      },
    };
  }
}

function missing(what: string): string {
  return `the account's imager has no program ${what}; add it in heddle.yaml`;
}

function describeExit({ code, stdout, stderr }: Awaited<ReturnType<typeof runCommand>>): string {
  return describe(code, (stderr.trim() || stdout.trim()).split('\n').at(-1) ?? '');
}

function describeEnd({ code, lastLine }: RunEnd): string {
  return describe(code, lastLine);
}

function describe(code: number | null, lastLine: string): string {
  const last = lastLine.slice(-300);
  return `it ended with ${code ?? 'no exit code'}${last === '' ? '' : `: ${last}`}`;
}
