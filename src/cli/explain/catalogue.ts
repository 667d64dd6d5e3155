import type { CodeEntry, Explanation } from '../../schema/output/explain.js';
import { exitCodeOf, type CliErrorCode } from '../errors.js';
import type { Case } from './case.js';
import { fileCases } from './cases/files.js';
import { keyCases } from './cases/keys.js';
import { machineCases } from './cases/machines.js';
import { nodeCases } from './cases/nodes.js';
import { operationCases } from './cases/operations.js';
import { serverCases } from './cases/server.js';
import { checkExplanations, type DoctorCheck } from './checks.js';
import { errorExplanations } from './codes.js';
import { failureExplanations, type TaskFailureKind } from './kinds.js';

/** What users can meet, by topic. */
export const topics: Readonly<Record<string, readonly Case[]>> = {
  'Server and workers': serverCases,
  'Keys and secrets': keyCases,
  'Nodes and scripts': nodeCases,
  'Operations and cluster files': operationCases,
  'Machines, images, pools and reservations': machineCases,
  'Files, plugins and settings': fileCases,
};

export const cases: readonly Case[] = Object.values(topics).flat();

/** What a code means, in the order in which lists show them. */
export type Entry = CodeEntry &
  (
    | { readonly of: 'command'; readonly code: CliErrorCode }
    | { readonly of: 'task'; readonly code: TaskFailureKind }
    | { readonly of: 'check'; readonly code: DoctorCheck }
  );

export const entries: readonly Entry[] = [
  ...membersOf(errorExplanations).map(([code, explanation]) => ({
    code,
    of: 'command' as const,
    exitCode: exitCodeOf(code),
    ...explanation,
    messages: messagesOf('command', code),
  })),
  ...membersOf(failureExplanations).map(([code, explanation]) => ({
    code,
    of: 'task' as const,
    ...explanation,
    messages: messagesOf('task', code),
  })),
  ...membersOf<DoctorCheck>(checkExplanations).map(([code, explanation]) => ({
    code,
    of: 'check' as const,
    ...explanation,
    messages: [],
  })),
];

function messagesOf(of: Case['of'], code: string): readonly string[] {
  return cases.filter((one) => one.of === of && one.code === code).map(({ message }) => message);
}

/** The members of a table, with the names that its type lists. */
function membersOf<Code extends string>(
  table: Readonly<Record<Code, Explanation>>,
): readonly (readonly [Code, Explanation])[] {
  return Object.entries(table) as [Code, Explanation][];
}
