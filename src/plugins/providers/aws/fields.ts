import type { FieldFault } from '../../../model/field-fault.js';
import type { AwsFields } from './field-types.js';

/** What is wrong with fields that require or exclude each other. */
export function conflictsOf({
  accessKeyId,
  sessionToken,
  subnets,
  zones,
  spot,
  spotMaxPrice,
}: Partial<AwsFields>): readonly FieldFault[] {
  return [
    ...(sessionToken !== undefined && accessKeyId === undefined
      ? [{ path: ['sessionToken'], wrong: 'requires accessKeyId and secretAccessKey' }]
      : []),
    ...(subnets !== undefined && zones !== undefined
      ? [
          {
            path: [],
            wrong:
              'subnets and zones exclude each other, because a subnet is in one zone: set only one of them',
          },
        ]
      : []),
    ...(spotMaxPrice !== undefined && spot !== true
      ? [{ path: ['spotMaxPrice'], wrong: 'requires spot: true' }]
      : []),
  ];
}
