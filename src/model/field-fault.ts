/** A fault of a plugin's fields, without their values, which may be secret. */
export interface FieldFault {
  /** Of the field, and within its value; empty for a fault of several fields. */
  readonly path: readonly (string | number)[];
  readonly wrong: string;
}
