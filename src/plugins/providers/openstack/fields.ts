import type { FieldFault } from '../../../model/field-fault.js';
import type { OpenStackFields } from './field-types.js';

/** What is wrong with fields that exclude each other. */
export function conflictsOf({
  applicationCredentialId,
  applicationCredentialSecret,
  username,
}: Partial<OpenStackFields>): readonly FieldFault[] {
  return applicationCredentialId !== undefined &&
    applicationCredentialSecret !== undefined &&
    username !== undefined
    ? [{ path: [], wrong: 'set an application credential or a user, not both' }]
    : [];
}
