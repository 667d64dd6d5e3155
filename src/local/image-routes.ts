import type { Route } from './http.js';
import { imageJobSchema, type Imaging } from './imaging.js';
import type { Machines } from './machines.js';
import { check } from './requests.js';

/** Images, and what is done with them on machines. */
export function imageRoutesOf(imaging: Imaging, machines: Machines): readonly Route[] {
  return [
    ...(['load', 'capture'] as const).map((kind): Route => ({
      method: 'POST', path: `/v1/machines/:id/${kind}`, handle: ({ parameters: { id = '' }, body }) => {
        const request = check(imageJobSchema, body);
        return { subject: machines.subjectOf(kind, id), accept: () => ({ status: 202, body: imaging.begin(id, kind, request) }) };
      },
    })),
    { method: 'GET', path: '/v1/machines/:id/job', handle: ({ parameters: { id = '' } }) => ({ accept: () => ({ status: 200, body: imaging.job(id) }) }) },
    { method: 'GET', path: '/v1/images/:name', handle: ({ parameters: { name = '' } }) => ({ subject: { operation: 'images' }, accept: () => ({ status: 200, body: imaging.show(name) }) }) },
    {
      method: 'DELETE', path: '/v1/images/:name', handle: ({ parameters: { name = '' } }) => ({
        accept: () => {
          imaging.remove(name);
          return { status: 200, body: { image: name } };
        },
      }),
    },
  ];
}
