/**
 * The update by which clients read: its arguments are whether the read is repeated, and the
 * name and the arguments of a query. The workflow refuses it with the answer, so the history
 * records nothing. See docs/decisions/0041-reads-are-refused-updates.md.
 */
export const readUpdateName = 'read';

/** The failure type of the refusal whose details hold the answer. */
export const answerType = 'Answer';

/** The failure type of the refusal because earlier events are not part of the state yet: ask again. */
export const notYetType = 'NotYet';
