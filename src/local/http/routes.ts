import { faultSchema, type Faults } from '../faults.js';
import { ApiError } from '../errors.js';
import type { ApiRequest, Route } from './http.js';
import type { Journal } from '../journal.js';
import type { Library } from '../image/library.js';
import type { Machines } from '../machines.js';
import { flavors, limitsSchema, useOf, type Quota } from '../quota.js';
import { check, createSchema, journalSchema, listSchema, powerSchema, queryOf } from './requests.js';

export interface RouteParts {
  readonly machines: Machines;
  readonly quota: Quota;
  readonly journal: Journal;
  readonly faults: Faults;
  readonly library: Library;
  /** What health tells about the service. */
  readonly about: object;
}

/** The whole API as a table. */
export function routesOf({ machines, quota, journal, faults, library, about }: RouteParts): readonly Route[] {
  const ok = (body: unknown) => ({ status: 200, body });
  const accepted = (body: unknown) => ({ status: 202, body });
  return [
    { method: 'GET', path: '/v1/health', open: true, handle: () => ({ accept: () => ok(about) }) },
    {
      method: 'POST',
      path: '/v1/machines',
      handle: ({ body }) => {
        const request = check(createSchema, body);
        return {
          subject: { operation: 'create', hostname: request.hostname, tags: request.tags },
          accept: () => machines.create(request),
        };
      },
    },
    {
      method: 'GET',
      path: '/v1/machines',
      handle: ({ query }) => {
        const request = check(listSchema, queryOf(query, ['tag']));
        return { subject: { operation: 'list' }, accept: () => ok(machines.list(request)) };
      },
    },
    {
      method: 'GET',
      path: '/v1/machines/:id',
      handle: (request) => ({
        subject: machines.subjectOf('describe', idOf(request)),
        accept: () => ok(machines.describe(ownId(machines, request))),
      }),
    },
    {
      method: 'DELETE',
      path: '/v1/machines/:id',
      handle: (request) => ({
        subject: machines.subjectOf('delete', idOf(request)),
        accept: () => accepted(machines.remove(ownId(machines, request))),
      }),
    },
    {
      method: 'POST',
      path: '/v1/machines/:id/power',
      handle: (request) => {
        const { power } = check(powerSchema, request.body);
        return {
          subject: machines.subjectOf('power', idOf(request)),
          accept: () => accepted(machines.switchPower(ownId(machines, request), power)),
        };
      },
    },
    {
      method: 'POST',
      path: '/v1/machines/:id/kill',
      handle: ({ parameters: { id = '' } }) => ({ accept: () => accepted(machines.kill(id)) }),
    },
    {
      method: 'GET',
      path: '/v1/quota',
      handle: () => ({
        accept: () => {
          const inUse = machines.flavorsInUse();
          const byFlavor = Object.fromEntries(
            Object.keys(flavors).map((name) => [name, useOf(inUse.filter((flavor) => flavor === name))]),
          );
          return ok({ limits: quota.limits, use: useOf(inUse), byFlavor });
        },
      }),
    },
    {
      method: 'PUT',
      path: '/v1/quota',
      handle: ({ body }) => {
        const limits = check(limitsSchema, body);
        return {
          accept: () => {
            quota.set(limits);
            return ok({ limits: quota.limits });
          },
        };
      },
    },
    { method: 'GET', path: '/v1/flavors', handle: () => ({ accept: () => ok({ flavors }) }) },
    { method: 'GET', path: '/v1/images', handle: () => ({ accept: () => ok({ images: library.names() }) }) },
    {
      method: 'GET',
      path: '/v1/journal',
      handle: ({ query }) => {
        const { after, limit, operation } = check(journalSchema, queryOf(query, ['operation']));
        return { accept: () => ok({ entries: journal.read({ after, limit, operations: operation }) }) };
      },
    },
    { method: 'GET', path: '/v1/faults', handle: () => ({ accept: () => ok({ faults: faults.list() }) }) },
    {
      method: 'POST',
      path: '/v1/faults',
      handle: ({ body }) => {
        const fault = check(faultSchema, body);
        return { accept: () => ({ status: 201, body: { id: faults.add(fault) } }) };
      },
    },
    {
      method: 'DELETE',
      path: '/v1/faults',
      handle: () => ({
        accept: () => {
          faults.clear();
          return ok({});
        },
      }),
    },
    {
      // Removing a fault that holds answers releases them.
      method: 'DELETE',
      path: '/v1/faults/:id',
      handle: ({ parameters: { id = '' } }) => ({
        accept: () => {
          if (!faults.remove(id)) throw new ApiError('NotFound', `There is no fault ${id}.`);
          return ok({});
        },
      }),
    },
  ];
}

export function idOf({ parameters: { id = '' } }: ApiRequest): string {
  return id;
}

/**
 * The id of the call's machine.
 * @throws ApiError KeyMismatch where the query names another key than the machine has.
 */
export function ownId(machines: Machines, request: ApiRequest): string {
  const id = idOf(request);
  machines.requireKey(id, request.query.get('key'));
  return id;
}
