import { recipeGroup, type ImageSpec } from '../../model/image/spec.js';
import { errorAt, type Problem } from '../problem.js';

/** Checks what an image means, without asking any worker. Pure. */
export function checkImage({ source, uploads, validate }: ImageSpec): readonly Problem[] {
  const problems: Problem[] = [];
  const captured = source.kind === 'recipe' ? source.cluster.groups[recipeGroup]?.provider : undefined;
  for (const [index, { provider, format }] of uploads.entries()) {
    const path = ['uploads', index] as const;
    if (provider === captured)
      problems.push(
        errorAt(
          [...path, 'provider'],
          `is "${provider}", where the image is captured`,
          'It is there already; take it out.',
        ),
      );
    if (uploads.findIndex((other) => other.provider === provider) < index)
      problems.push(
        errorAt([...path, 'provider'], `names "${provider}" a second time`, 'One upload for each provider.'),
      );
    if (source.kind === 'command' && !source.formats.includes(format))
      problems.push(
        errorAt(
          [...path, 'format'],
          `is ${format}, which the command does not make`,
          `Add it to command.formats, or say one of ${source.formats.join(', ')}.`,
        ),
      );
  }
  if (
    validate !== undefined &&
    validate.provider !== captured &&
    !uploads.some(({ provider }) => provider === validate.provider)
  ) {
    problems.push(
      errorAt(
        ['validate'],
        validate.provider === ''
          ? 'there is no provider that it could be booted at'
          : `names provider "${validate.provider}", which does not get the image`,
        'Name one of the uploads, or say validate: false.',
      ),
    );
  }
  return problems;
}
