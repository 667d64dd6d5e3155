/** Metadata of an encrypted payload that all can read: the id of its key. */
export const keyIdField = 'encryption-key-id';

/** Metadata that a worker's codec adds to each payload: the id of its key. */
export const keyLabel = 'heddle-key';

/** Says why the codec could not open the payload, which is then a `Refusal`. */
export const unopenedLabel = 'heddle-unopened';
