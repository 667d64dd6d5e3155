import type { Build } from '../../model/image/build.js';
import { cleanLine } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../exit-codes.js';
import { createOutput, type Output } from '../output.js';
import { withSession } from '../session.js';
import { formatTable } from '../table.js';
import { formatAge, formatDuration } from '../time-text.js';

export async function list(options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const { images, silent } = await withSession(options, ({ client }) => client.images.list());
  output.document({ images, silent });
  for (const name of silent) output.note(cleanLine(`image ${name} does not answer`));
  if (images.length === 0) output.line('no images\nnext: heddle image apply FILE');
  else {
    print(
      output,
      ['IMAGE', 'OFFERED', 'AGE', 'BUILDS', 'DOING'],
      images.map(({ name, newest, builds, doing, paused }) => {
        const offered = builds.find(({ number }) => number === newest);
        return [
          name,
          newest === undefined ? '-' : `${name}@${newest}`,
          offered?.endedAt === undefined ? '-' : formatAge(offered.endedAt, Date.now()),
          String(builds.length),
          `${doing}${paused === undefined ? '' : ' (paused)'}`,
        ];
      }),
    );
  }
  return exitCodes.ok;
}

export async function show(name: string, options: ServerOptions): Promise<number> {
  const output = createOutput(options);
  const view = await withSession(options, ({ client }) => client.images.show(name));
  output.document({ image: view });
  const {
    source = 'not said yet',
    keep,
    rebuildAgeMs,
    builds,
    paused,
    request,
    machines,
    pools,
    doing,
  } = view;
  output.line(cleanLine(`image ${name}: ${doing}`));
  output.line(
    cleanLine(
      `  ${source}; keeps ${keep ?? '?'}${rebuildAgeMs === undefined ? '' : `, built again after ${formatDuration(rebuildAgeMs)}`}`,
    ),
  );
  if (paused !== undefined) output.line(cleanLine(`  paused by ${paused.by}: ${paused.why}`));
  if (request !== undefined)
    output.line(
      cleanLine(
        `  asked for by ${request.by}${request.failed === 0 ? '' : `, failed ${request.failed} ${request.failed === 1 ? 'time' : 'times'}`}${request.notBefore === undefined ? '' : `, next at ${new Date(request.notBefore).toISOString()}`}`,
      ),
    );
  if (pools !== undefined) output.line(cleanLine(`  pools make nodes from it: ${pools.join(', ')}`));
  for (const machine of machines) output.line(cleanLine(`  machine ${machine}`));
  for (const build of builds) printBuild(output, build);
  return exitCodes.ok;
}

function printBuild(
  output: Output,
  { number, state, step, why, startedAt, endedAt, sizeMb, files, uploads, provenance, notes }: Build,
): void {
  const size = sizeMb === undefined ? '' : `, ${sizeMb} MB`;
  output.line();
  output.line(
    cleanLine(
      `build ${number}: ${state}${step === undefined ? '' : ` (${step})`}${size}, begun ${formatAge(startedAt, Date.now())} ago${endedAt === undefined ? '' : `, took ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt))}`}`,
    ),
  );
  if (why !== undefined) output.line(cleanLine(`  ${why}`));
  output.line(
    cleanLine(
      `  from ${provenance.source}, recipe ${provenance.recipe || '?'}, by ${provenance.by}${provenance.builder === undefined ? '' : `, on ${provenance.builder}`}${provenance.validated === undefined ? '' : ', booted'}`,
    ),
  );
  for (const { provider, state: is, image, why: because } of uploads)
    output.line(
      cleanLine(
        `  ${provider}: ${is}${image === undefined ? '' : `, ${image}`}${because === undefined ? '' : `: ${because}`}`,
      ),
    );
  for (const { path, sha256, bytes } of files)
    output.line(cleanLine(`  ${path}, ${bytes} bytes, SHA-256 ${sha256}`));
  for (const note of notes) output.line(cleanLine(`  ${note}`));
}

function print(output: Output, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const [head = '', ...lines] = formatTable(titles, rows);
  output.line(output.style('bold', head));
  for (const line of lines) output.line(line);
}
