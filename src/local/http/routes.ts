import { Readable } from 'node:stream';
import { ApiError } from '../errors.js';
import { attachSchema, extraKinds, makeExtraSchema, type Extras } from '../extras.js';
import { faultSchema, type CallSubject, type Faults } from '../faults.js';
import { imageJobSchema, imagesSchema, uploadSchema, type Imaging } from '../image/imaging.js';
import type { Library } from '../image/library.js';
import type { Journal } from '../journal.js';
import type { Machines } from '../machines.js';
import { flavors, limitsSchema, useOf, type Quota } from '../quota.js';
import {
  bodyOf,
  createSchema,
  journalSchema,
  limitBody,
  listSchema,
  powerSchema,
  queryOf,
} from './requests.js';
import { answerWith, type Answer, type Api, type Call } from './server.js';

interface Account {
  readonly machines: Machines;
  readonly imaging: Imaging;
  readonly extras: Extras;
  readonly quota: Quota;
  readonly journal: Journal;
  readonly faults: Faults;
  readonly library: Library;
  /** The response of /v1/health. */
  readonly about: object;
}

export function addRoutes(api: Api, account: Account): void {
  const answer = answerWith(account.faults);
  api.get('/v1/health', (call) => call.json(account.about));
  addMachineRoutes(api, account, answer);
  addImageRoutes(api, account, answer);
  addExtraRoutes(api, account, answer);
  addAccountRoutes(api, account);
}

function addMachineRoutes(api: Api, { machines, imaging }: Account, answer: Answer): void {
  const subjectOf = (call: Call, operation: CallSubject['operation']): CallSubject =>
    machines.subjectOf(operation, call.req.param('id') ?? '');
  /** @throws ApiError KeyMismatch if the query names another key than the machine has. */
  const idOf = (call: Call): string => {
    const id = call.req.param('id') ?? '';
    machines.requireKey(id, call.req.query('key'));
    return id;
  };
  api.post('/v1/machines', limitBody, async (call) => {
    const request = await bodyOf(call, createSchema);
    const { hostname, tags } = request;
    return answer(call, { operation: 'create', hostname, tags }, () => {
      const { status, body } = machines.create(request);
      return call.json(body, status);
    });
  });
  api.get('/v1/machines', (call) => {
    const request = queryOf(call, listSchema);
    return answer(call, { operation: 'list' }, () => call.json(machines.list(request)));
  });
  api.get('/v1/machines/:id', (call) =>
    answer(call, subjectOf(call, 'describe'), () => call.json(machines.describe(idOf(call)))),
  );
  api.delete('/v1/machines/:id', (call) =>
    answer(call, subjectOf(call, 'delete'), () => call.json(machines.remove(idOf(call)), 202)),
  );
  api.post('/v1/machines/:id/power', limitBody, async (call) => {
    const { power } = await bodyOf(call, powerSchema);
    return answer(call, subjectOf(call, 'power'), () =>
      call.json(machines.switchPower(idOf(call), power), 202),
    );
  });
  api.post('/v1/machines/:id/kill', (call) => call.json(machines.kill(call.req.param('id')), 202));
  for (const kind of ['load', 'capture'] as const)
    api.post(`/v1/machines/:id/${kind}`, limitBody, async (call) => {
      const job = await bodyOf(call, imageJobSchema);
      return answer(call, subjectOf(call, kind), () => call.json(imaging.begin(idOf(call), kind, job), 202));
    });
  api.get('/v1/machines/:id/console', (call) =>
    answer(call, subjectOf(call, 'describe'), () => call.json(machines.console(idOf(call)))),
  );
  api.get('/v1/machines/:id/job', (call) => call.json(imaging.job(idOf(call))));
}

function addImageRoutes(api: Api, { imaging, library }: Account, answer: Answer): void {
  api.get('/v1/images', (call) => call.json({ images: library.names() }));
  api.get('/v1/uploads', (call) => {
    const { tag } = queryOf(call, imagesSchema);
    return answer(call, { operation: 'images' }, () => call.json(imaging.list(tag)));
  });
  api.get('/v1/images/:name', (call) =>
    answer(call, { operation: 'images' }, () => call.json(imaging.show(call.req.param('name')))),
  );
  api.delete('/v1/images/:name', (call) => {
    const image = call.req.param('name');
    imaging.remove(image);
    return call.json({ image });
  });
  api.get('/v1/images/:name/file', (call) => {
    const name = call.req.param('name');
    return answer(call, { operation: 'download', hostname: name }, () => {
      call.header('content-type', 'application/octet-stream');
      return call.body(Readable.toWeb(imaging.pack(name)) as ReadableStream);
    });
  });
  api.put('/v1/images/:name/file', async (call) => {
    const name = call.req.param('name');
    const request = queryOf(call, uploadSchema);
    const received = await imaging.receive(name, request, call.env.incoming);
    return answer(call, { operation: 'upload', hostname: name }, () =>
      call.json(imaging.take(name, request, received)),
    );
  });
}

/** Volumes and addresses have the same calls. */
function addExtraRoutes(api: Api, { extras }: Account, answer: Answer): void {
  for (const kind of extraKinds) {
    api.post(`/v1/${kind}`, limitBody, async (call) => {
      const request = await bodyOf(call, makeExtraSchema);
      return answer(call, { operation: 'extra', tags: request.tags }, () => {
        const { status, body } = extras.make(kind, request);
        return call.json(body, status);
      });
    });
    api.get(`/v1/${kind}`, (call) =>
      answer(call, { operation: 'extra' }, () => call.json(extras.list(kind, call.req.query('key')))),
    );
    api.post(`/v1/${kind}/:id/attach`, limitBody, async (call) => {
      const { machine } = await bodyOf(call, attachSchema);
      return answer(call, { operation: 'extra' }, () =>
        call.json(extras.attach(kind, call.req.param('id'), machine)),
      );
    });
    api.delete(`/v1/${kind}/:id`, (call) =>
      answer(call, { operation: 'extra' }, () => call.json(extras.remove(kind, call.req.param('id')))),
    );
  }
}

/** Calls that scripted faults do not affect. */
function addAccountRoutes(api: Api, { machines, quota, journal, faults }: Account): void {
  api.get('/v1/flavors', (call) => call.json({ flavors }));
  api.get('/v1/quota', (call) => {
    const inUse = machines.flavorsInUse();
    const byFlavor = Object.fromEntries(
      Object.keys(flavors).map((name) => [name, useOf(inUse.filter((flavor) => flavor === name))]),
    );
    return call.json({ limits: quota.limits, use: useOf(inUse), byFlavor });
  });
  api.put('/v1/quota', limitBody, async (call) => {
    quota.set(await bodyOf(call, limitsSchema));
    return call.json({ limits: quota.limits });
  });
  api.get('/v1/journal', (call) => {
    const { after, limit, operation: operations } = queryOf(call, journalSchema);
    return call.json({ entries: journal.read({ after, limit, operations }) });
  });
  api.get('/v1/faults', (call) => call.json({ faults: faults.list() }));
  api.post('/v1/faults', limitBody, async (call) =>
    call.json({ id: faults.add(await bodyOf(call, faultSchema)) }, 201),
  );
  api.delete('/v1/faults', (call) => {
    faults.clear();
    return call.json({});
  });
  // Removing a fault that holds answers releases them.
  api.delete('/v1/faults/:id', (call) => {
    const id = call.req.param('id');
    if (!faults.remove(id)) throw new ApiError('NotFound', `Fault ${id} does not exist.`);
    return call.json({});
  });
}
