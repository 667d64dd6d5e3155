import { attachSchema, extraKinds, makeExtraSchema, type Extras } from '../extras.js';
import type { Route } from './http.js';
import { check } from './requests.js';

/** Volumes and addresses: the same calls for both. */
export function extraRoutesOf(extras: Extras): readonly Route[] {
  return extraKinds.flatMap((kind): readonly Route[] => [
    {
      method: 'POST',
      path: `/v1/${kind}`,
      handle: ({ body }) => {
        const request = check(makeExtraSchema, body);
        return {
          subject: { operation: 'extra', tags: request.tags },
          accept: () => extras.make(kind, request),
        };
      },
    },
    {
      method: 'GET',
      path: `/v1/${kind}`,
      handle: ({ query }) => ({
        subject: { operation: 'extra' },
        accept: () => ({ status: 200, body: extras.list(kind, query.get('key') ?? undefined) }),
      }),
    },
    {
      method: 'POST',
      path: `/v1/${kind}/:id/attach`,
      handle: ({ parameters: { id = '' }, body }) => {
        const { machine } = check(attachSchema, body);
        return {
          subject: { operation: 'extra' },
          accept: () => ({ status: 200, body: extras.attach(kind, id, machine) }),
        };
      },
    },
    {
      method: 'DELETE',
      path: `/v1/${kind}/:id`,
      handle: ({ parameters: { id = '' } }) => ({
        subject: { operation: 'extra' },
        accept: () => ({ status: 200, body: extras.remove(kind, id) }),
      }),
    },
  ]);
}
