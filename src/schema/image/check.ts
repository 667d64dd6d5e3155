import { accountOfNode } from '../../model/image/account-of-node.js';
import type { ImageSpec } from './spec.js';
import { errorAt, type Problem } from '../problem.js';

/** Checks what an image means, without asking any worker. Pure. */
export function checkImage({ recipe, command, uploads, validate }: ImageSpec): readonly Problem[] {
  const problems: Problem[] = [];
  const captured = recipe?.provider ?? (recipe?.from === undefined ? undefined : accountOfNode);
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
    if (command !== undefined && !command.formats.includes(format))
      problems.push(
        errorAt(
          [...path, 'format'],
          `is ${format}, which the command does not make`,
          `Add it to command.formats, or say one of ${command.formats.join(', ')}.`,
        ),
      );
  }
  if (
    validate !== false &&
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
