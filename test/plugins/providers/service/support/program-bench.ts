import type {
  CurrentReading,
  ImageInput,
  JsonObject,
  Knowledge,
  Outcome,
  PluginContext,
  SizeReading,
} from '../../../../../src/plugins/contract.js';
import { parseImageRef } from '../../../../../src/model/machine/image.js';
import { ServiceProvider } from '../../../../../src/plugins/providers/service/service.js';

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly detach?: AbortSignal;
  readonly token?: string;
  readonly fields?: JsonObject;
}

/** The provider as the engine calls it, an object for each attempt, with the first of its resources taken. */
export interface ProgramBench {
  readonly reach: (options?: CallOptions) => Promise<Knowledge>;
  readonly current: () => Promise<CurrentReading>;
  readonly exists: (image: string, options?: CallOptions) => Promise<Knowledge>;
  readonly size: (image: string) => Promise<SizeReading>;
  readonly check: (image: string) => Promise<Knowledge | undefined>;
  readonly taint: (reason: string) => Promise<Outcome>;
  readonly capture: (image: string, options?: CallOptions) => Promise<Outcome>;
  readonly load: (image: string, options?: CallOptions) => Promise<Outcome>;
  readonly delete: (image: string) => Promise<Outcome>;
  readonly endRun: () => Promise<Outcome>;
  /** @throws where it was not done. */
  readonly captureAs: (image: string) => Promise<void>;
  /** What programs told of how far they are. */
  readonly told: readonly string[];
}

const silentLog: PluginContext['log'] = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export function openProgramBench(admin: JsonObject): ProgramBench {
  const told: string[] = [];
  const [first] = admin['resources'] as readonly { readonly name: string }[];
  const machine = { key: 'uid/bench/1', tags: {}, fields: admin, providerid: first?.name ?? '' };
  const open = ({
    signal = new AbortController().signal,
    detach,
    fields = {},
  }: CallOptions = {}): ServiceProvider => {
    const all = { ...admin, ...fields };
    const task: PluginContext['task'] = {
      taskId: '-',
      taskName: 'CONFIRM',
      clusterId: 'c',
      clusterUid: 'uid',
      nodeId: 'bench',
      incarnation: 1,
      attempt: 1,
      config: {},
      nodes: {},
      cluster: {},
      provider: { name: 'bench', type: 'service', fields: all },
    };
    const claims = {
      take: () => Promise.resolve(first?.name),
      release: () => Promise.resolve(),
      held: () => Promise.resolve({ [first?.name ?? '']: machine.key }),
    };
    return new ServiceProvider({ task, log: silentLog, signal, fields: all, claims, detach });
  };
  const input = (name: string, { token = `token of ${name}` }: CallOptions = {}): ImageInput => {
    const image = parseImageRef(name);
    if (image === undefined) throw new Error(`${name} is not an image`);
    return {
      ...machine,
      image,
      providerImage: name,
      token,
      progress: (text) => {
        told.push(text);
      },
    };
  };
  const capture: ProgramBench['capture'] = (image, options) => open(options).capture(input(image, options));
  return {
    told,
    capture,
    reach: (options) => open(options).reach(machine),
    current: () => open().currentImage(machine),
    exists: (image, options) => open(options).imageExists(input(image)),
    size: (image) => open().imageSize(input(image)),
    check: (image) => open().isAsImage(input(image)),
    taint: (reason) => open().taint(machine, { reason, at: '2026-01-01T00:00:00Z' }),
    load: (image, options) => open(options).load(input(image, options)),
    delete: (image) => open().deleteImage(input(image)),
    endRun: () => open().endRun(machine),
    captureAs: async (image) => {
      const outcome = await capture(image);
      if (outcome.answer !== 'done') throw new Error(`${image}: ${outcome.why}`);
    },
  };
}
