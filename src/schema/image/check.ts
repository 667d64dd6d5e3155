import { accountOfNode } from '../../model/image/account-of-node.js';
import type { ImageSpec } from './spec.js';
import { errorAt, type Problem } from '../problem.js';

/** Checks references of an image, without a worker. Pure. */
export function checkImage({ recipe, command, uploads, validate }: ImageSpec): readonly Problem[] {
  const problems: Problem[] = [];
  const captured = recipe?.provider ?? (recipe?.from === undefined ? undefined : accountOfNode);
  for (const [index, { provider, format }] of uploads.entries()) {
    const path = ['uploads', index] as const;
    if (provider === captured)
      problems.push(
        errorAt(
          [...path, 'provider'],
          `is "${provider}", the account at which the image is captured`,
          'Remove it: that account has the image already.',
        ),
      );
    if (uploads.findIndex((other) => other.provider === provider) < index)
      problems.push(
        errorAt([...path, 'provider'], `lists "${provider}" twice`, 'Keep one upload for each provider.'),
      );
    if (command !== undefined && !command.formats.includes(format))
      problems.push(
        errorAt(
          [...path, 'format'],
          `is ${format}, which the command does not create`,
          `Add it to command.formats, or set one of ${command.formats.join(', ')}.`,
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
          ? 'has no provider to boot the image at'
          : `names provider "${validate.provider}", which does not get the image`,
        'Name the provider of an upload, or set validate: false.',
      ),
    );
  }
  return problems;
}
