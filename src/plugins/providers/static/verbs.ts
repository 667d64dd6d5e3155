import type { ImageInput, Knowledge, LoadOutcome } from '../../contract.js';

/**
 * A static machine keeps its content: LOAD writes nothing and is done when SSH answers, which the engine
 * checks afterwards. So every image exists.
 */
export const standalone = {
  imageExists: async (_input: ImageInput): Promise<Knowledge> => ({ is: 'yes' }),
  load: async ({ image, progress }: ImageInput): Promise<LoadOutcome> => {
    progress(`nothing is written; the machine is taken to have ${image.name}@${image.revision}`);
    return { answer: 'done', untouched: true };
  },
} as const;
