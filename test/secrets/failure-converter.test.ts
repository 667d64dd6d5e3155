import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { failureConverter } from '../../src/secrets/failure-converter.js';

describe('the failure converter', () => {
  it('leaves the type of a failure readable, and neither its message nor its details', () => {
    const failure = failureConverter.errorToFailure(
      ApplicationFailure.create({ message: 'a secret', type: 'ScriptFailed', cause: new Error('another') }),
      defaultPayloadConverter,
    );
    expect([failure.message, failure.cause?.message]).toEqual([
      'ScriptFailed: see encodedAttributes',
      'Failure: see encodedAttributes',
    ]);
    expect(failureConverter.failureToError(failure, defaultPayloadConverter)).toMatchObject({
      message: 'a secret',
      cause: { message: 'another' },
    });
  });

  it('names files in stack traces without the folder they are installed in, also of causes', () => {
    const frames = [
      'at create (/opt/app/node_modules/@temporalio/common/dist/failure.js:185:16)',
      'at async file:///opt/app/dist/activities/table.js:155:25',
      'at run (file:///opt/app/node_modules/heddle/dist/worker/main.js:3:1)',
      'at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    ];
    const cause = new Error('below');
    cause.stack = `Error: below\n    ${frames.join('\n    ')}`;
    const failure = failureConverter.errorToFailure(
      ApplicationFailure.create({ message: 'above', cause }),
      defaultPayloadConverter,
    );
    const attributes = failure.cause?.encodedAttributes;
    expect(attributes && defaultPayloadConverter.fromPayload(attributes)).toEqual({
      message: 'below',
      stack_trace: [
        'Error: below',
        '    at create (node_modules/@temporalio/common/dist/failure.js:185:16)',
        '    at async heddle/dist/activities/table.js:155:25',
        '    at run (node_modules/heddle/dist/worker/main.js:3:1)',
        '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
      ].join('\n'),
    });
    expect(failure.encodedAttributes?.data?.toString()).not.toContain(import.meta.dirname);
  });
});
