import { loadImageFile } from '../../schema/image/read.js';
import { ProblemsError } from '../../schema/problem.js';
import type { ImageSpec } from '../../model/image/spec.js';
import type { ServerOptions } from '../configuration.js';
import { verb } from '../verb.js';

export async function apply(file: string, options: ServerOptions): Promise<number> {
  const reading = loadImageFile(file);
  if (!reading.ok) throw new ProblemsError(`${file} cannot be used:`, reading.problems);
  return applySpec(reading.spec, options);
}

const applySpec = verb(({ client }, spec: ImageSpec, _options: ServerOptions) => client.images.apply(spec), {
  worker: true,
  document: ({ uid, unchanged }, { name }) => ({ image: { name, uid, unchanged } }),
  print: (output, { unchanged }, { name, rebuildAgeMs }) => {
    output.line(`image ${name}: ${unchanged ? 'unchanged' : 'configured'}`);
    if (!unchanged && rebuildAgeMs === undefined) output.line(`next: heddle image build ${name}`);
  },
});
