import { join } from 'node:path';
import { z } from 'zod';
import { ApiError } from './errors.js';
import { readJsonFile, writeJsonFile } from './files.js';

/** Machine sizes. They only count towards the quota and limit no process. */
export const flavors: Readonly<Record<string, { readonly cores: number; readonly memoryMb: number }>> = {
  tiny: { cores: 1, memoryMb: 256 },
  small: { cores: 1, memoryMb: 1024 },
  medium: { cores: 2, memoryMb: 4096 },
  large: { cores: 4, memoryMb: 8192 },
};

const limit = z.int().min(0);
const allLimitsSchema = z.strictObject({ machines: limit, cores: limit, memoryMb: limit });
export const limitsSchema = allLimitsSchema.partial();
type AllLimits = z.infer<typeof allLimitsSchema>;

const resources = ['machines', 'cores', 'memoryMb'] as const;

const defaults: AllLimits = { machines: 2_000, cores: 8_000, memoryMb: 16_000_000 };

/** Limits for all machines together. Stored in the data folder; changed over HTTP. */
export class Quota {
  readonly #file: string;
  #limits: AllLimits;

  constructor(dataFolder: string) {
    this.#file = join(dataFolder, 'quota.json');
    this.#limits = readJsonFile(this.#file, allLimitsSchema) ?? defaults;
  }

  get limits(): AllLimits {
    return this.#limits;
  }

  set(limits: z.infer<typeof limitsSchema>): void {
    this.#limits = allLimitsSchema.parse({ ...this.#limits, ...limits });
    writeJsonFile(this.#file, this.#limits);
  }

  /** @throws ApiError QuotaExceeded when one more machine of this flavor is too much. */
  admit(inUse: readonly string[], flavor: string): void {
    const use = useOf([...inUse, flavor]);
    const over = resources.filter((name) => use[name] > this.#limits[name]);
    if (over.length === 0) return;
    const texts = over.map((name) => `${use[name]} of ${this.#limits[name]} ${name}`);
    throw new ApiError(
      'QuotaExceeded',
      `One more machine of flavor '${flavor}' would use ${texts.join(', ')}. Delete machines, or raise the quota.`,
    );
  }
}

/** What machines of these flavors take together. */
export function useOf(inUse: readonly string[]): AllLimits {
  const sizes = inUse.map((name) => flavors[name] ?? { cores: 0, memoryMb: 0 });
  return {
    machines: sizes.length,
    cores: sizes.reduce((sum, size) => sum + size.cores, 0),
    memoryMb: sizes.reduce((sum, size) => sum + size.memoryMb, 0),
  };
}
