import type { Build } from '../../model/image/build.js';
import type { ServerOptions } from '../configuration.js';
import type { Output } from '../output.js';
import { formatAge, formatCount, formatDuration, optional } from '../format.js';
import { noteSilent, verb } from '../verb.js';

export const list = verb(({ client }, _options: ServerOptions) => client.images.list(), {
  table: {
    head: ['IMAGE', 'OFFERED', 'AGE', 'BUILDS', 'DOING'],
    rows: ({ images }) =>
      images.map(({ name, newest, builds, doing, paused, pausedUploads = {} }) => {
        const endedAt = builds.find(({ number }) => number === newest)?.endedAt;
        return [
          name,
          newest === undefined ? '-' : `${name}@${newest}`,
          endedAt === undefined ? '-' : formatAge(endedAt, Date.now()),
          String(builds.length),
          `${doing}${paused === undefined ? '' : ' (paused)'}${pausedWords(Object.keys(pausedUploads))}`,
        ];
      }),
    empty: 'no images\nnext: heddle image apply FILE',
  },
  print: (output, { silent }) => noteSilent(output, 'image', silent),
});

export const show = verb(({ client }, name: string, _options: ServerOptions) => client.images.show(name), {
  document: (image) => ({ image }),
  print: (output, image) => {
    const { name, source = 'unknown', keep = '?', rebuildAge, builds, paused, request, doing } = image;
    output.line(`image ${name}: ${doing}`);
    const again = rebuildAge === undefined ? '' : `, rebuilt after ${formatDuration(rebuildAge * 1000)}`;
    output.line(`  ${source}; keeps ${keep}${again}`);
    if (image.exported !== undefined)
      output.line(`  exported by ${image.exported.by}: its builds belong to the restored image`);
    if (paused !== undefined) output.line(`  paused by ${paused.by}: ${paused.why}`);
    for (const [provider, { by, at }] of Object.entries(image.pausedUploads ?? {}))
      output.line(`  uploads to ${provider} paused by ${by} ${formatAge(at, Date.now())} ago`);
    if (request !== undefined) {
      const { by, failed, notBefore } = request;
      const fails = failed === 0 ? '' : `, failed ${formatCount(failed, 'time')}`;
      const next = notBefore === undefined ? '' : `, next at ${new Date(notBefore).toISOString()}`;
      output.line(`  requested by ${by}${fails}${next}`);
    }
    if (image.pools !== undefined) output.line(`  pools make nodes from it: ${image.pools.join(', ')}`);
    for (const machine of image.machines) output.line(`  machine ${machine}`);
    for (const build of builds) printBuild(output, build);
  },
});

function pausedWords(providers: readonly string[]): string {
  return providers.length === 0 ? '' : ` (uploads to ${providers.join(', ')} paused)`;
}

function printBuild(output: Output, build: Build): void {
  const { number, state, step, why, startedAt, endedAt, sizeMb, provenance } = build;
  const size = sizeMb === undefined ? '' : `, ${sizeMb} MB`;
  const took =
    endedAt === undefined ? '' : `, took ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt))}`;
  const at = step === undefined ? '' : ` (${step})`;
  output.line();
  output.line(
    `build ${number}: ${state}${at}${size}, started ${formatAge(startedAt, Date.now())} ago${took}`,
  );
  if (why !== undefined) output.line(`  ${why}`);
  const { source, recipe, by, builder, validated } = provenance;
  const where = optional(', on ', builder);
  const booted = validated === undefined ? '' : ', booted';
  output.line(`  from ${source}, recipe ${recipe || '?'}, by ${by}${where}${booted}`);
  for (const upload of build.uploads) {
    const image = optional(', ', upload.image);
    output.line(`  ${upload.provider}: ${upload.state}${image}${optional(': ', upload.why)}`);
  }
  for (const { path, sha256, bytes } of build.files)
    output.line(`  ${path}, ${bytes} bytes, SHA-256 ${sha256}`);
  for (const note of build.notes) output.line(`  ${note}`);
}
