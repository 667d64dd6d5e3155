import type { Route } from '../http/http.js';
import { imageJobSchema, imagesSchema, uploadSchema, type Imaging } from './imaging.js';
import type { Received } from './library.js';
import type { Machines } from '../machines.js';
import { check, queryOf } from '../http/requests.js';
import { idOf, ownId } from '../http/routes.js';

/** Images, and what is done with them on machines. */
export function imageRoutesOf(imaging: Imaging, machines: Machines): readonly Route[] {
  return [
    ...(['load', 'capture'] as const).map((kind): Route => ({
      method: 'POST',
      path: `/v1/machines/:id/${kind}`,
      handle: (request) => {
        const job = check(imageJobSchema, request.body);
        return {
          subject: machines.subjectOf(kind, idOf(request)),
          accept: () => ({ status: 202, body: imaging.begin(ownId(machines, request), kind, job) }),
        };
      },
    })),
    {
      method: 'GET',
      path: '/v1/machines/:id/job',
      handle: (request) => ({ accept: () => ({ status: 200, body: imaging.job(ownId(machines, request)) }) }),
    },
    {
      method: 'GET',
      path: '/v1/uploads',
      handle: ({ query }) => ({
        subject: { operation: 'images' },
        accept: () => ({ status: 200, body: imaging.list(check(imagesSchema, queryOf(query, ['tag'])).tag) }),
      }),
    },
    {
      method: 'GET',
      path: '/v1/images/:name',
      handle: ({ parameters: { name = '' } }) => ({
        subject: { operation: 'images' },
        accept: () => ({ status: 200, body: imaging.show(name) }),
      }),
    },
    {
      method: 'GET',
      path: '/v1/images/:name/file',
      handle: ({ parameters: { name = '' } }) => ({
        subject: { operation: 'download', hostname: name },
        accept: () => ({ status: 200, body: undefined, stream: imaging.pack(name) }),
      }),
    },
    {
      method: 'PUT',
      path: '/v1/images/:name/file',
      receive: ({ parameters: { name = '' }, query }, archive) =>
        imaging.receive(name, check(uploadSchema, queryOf(query, ['tag'])), archive),
      handle: ({ parameters: { name = '' }, query, body }) => ({
        subject: { operation: 'upload', hostname: name },
        accept: () => ({
          status: 200,
          body: imaging.take(
            name,
            check(uploadSchema, queryOf(query, ['tag'])),
            body as Received | undefined,
          ),
        }),
      }),
    },
    {
      method: 'DELETE',
      path: '/v1/images/:name',
      handle: ({ parameters: { name = '' } }) => ({
        accept: () => {
          imaging.remove(name);
          return { status: 200, body: { image: name } };
        },
      }),
    },
  ];
}
