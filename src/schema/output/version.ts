/**
 * The version of the JSON that `heddle --json` writes, in each document and each line. Within a
 * version, members and values are only added.
 */
export const outputVersion = 1;
