import type { JsonObject } from '../model/json.js';

export interface MachineInput {
  /**
   * As CREATE returned it. Absent only for DELETE of a machine whose id was never learnt: find it by its key.
   */
  readonly providerid?: string;
  readonly key: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly fields: JsonObject;
}
