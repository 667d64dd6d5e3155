import type { TaskRequest } from '../../model/messages.js';
import type { MachineInput } from '../../plugins/contract.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../../plugins/registry.js';
import type { Absences } from './absence.js';
import type { Attempt } from '../attempt.js';
import type { WorkflowRuns } from '../parts.js';
import type { Turn } from './turn.js';

/** One call to a provider, with all that it is about. */
export interface ProviderCall {
  readonly plugin: RegisteredProvider;
  readonly provider: ProviderWithAbilities;
  readonly request: TaskRequest;
  readonly attempt: Attempt;
  readonly machine: MachineInput;
  readonly absences: Absences;
  readonly runs: WorkflowRuns;
  /** Where the account bears one call at a time: the right to call it now. */
  readonly turn?: Turn;
}
