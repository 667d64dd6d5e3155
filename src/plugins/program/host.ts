import type { Duplex } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { copyPlainJson } from '../../schema/plain-json.js';
import { formatPath } from '../../schema/problem.js';
import { parseResult } from '../../schema/result.js';
import type { PluginContext, PluginLog, Shell } from '../contract.js';
import { clientFault, Clients } from '../clients.js';
import { PluginError } from '../errors.js';
import { exportOf, wordsForLoading } from './exports.js';
import { HostRequests } from './host-requests.js';
import { LineSplitter } from './lines.js';
import {
  logLevels,
  sizes,
  type DrainMessage,
  type HostCall,
  type LoadAnswer,
  type LoadMessage,
  type ReplyMessage,
} from './protocol.js';
import { failureOf } from './host-failure.js';

type PluginClass = new (context: PluginContext & { readonly shell: Shell }) => object;

/** Serves the worker at the other end until it is gone. */
export function serveHost(link: Duplex, end: () => void): void {
  const send = (message: object): void => {
    link.write(`${JSON.stringify(message)}\n`);
  };
  const requests = new HostRequests(send);
  let loaded: Promise<LoadedClass> | undefined;
  let cancelling = new AbortController();
  const lines = new LineSplitter(sizes.line * 8, (line) => {
    const message = JSON.parse(line) as
      | LoadMessage
      | HostCall
      | ReplyMessage
      | DrainMessage
      | { readonly cancel: string };
    if ('load' in message) {
      loaded = load(message.load);
      void loaded
        .then(
          ({ methods, clients }): LoadAnswer => ({ loaded: { methods, drains: clients.drains } }),
          (error: unknown): LoadAnswer => ({ failed: wordsForLoading(error) }),
        )
        .then(send);
    } else if ('drain' in message) {
      void (loaded ?? Promise.reject(new Error('nothing is loaded')))
        .then(({ clients }) => clients.close())
        .finally(end)
        .catch(() => undefined);
    } else if ('cancel' in message) {
      cancelling.abort(new Error(message.cancel));
    } else if ('id' in message) {
      requests.settle(message);
    } else if (loaded !== undefined) {
      cancelling = new AbortController();
      void loaded.then((it) => carryOut(it, message, requests, cancelling.signal, send)).then(send);
    }
  });
  link.on('data', (chunk: Buffer) => void lines.push(chunk));
  // Without its worker nobody wants what it does.
  link.on('close', end);
  link.on('error', end);
}

interface LoadedClass {
  readonly Class: PluginClass;
  readonly methods: readonly string[];
  readonly clients: Clients;
}

async function load({ entry, class: name, clients }: LoadMessage['load']): Promise<LoadedClass> {
  const module: unknown = await import(pathToFileURL(entry).href);
  const exported = exportOf(module, name);
  if (typeof exported !== 'function') throw new PluginError('Invalid', `${entry} exports no class ${name}`);
  const fault = clientFault(exported, name);
  if (fault !== undefined) throw new PluginError('Invalid', fault);
  return {
    Class: exported as PluginClass,
    methods: methodsOf(exported),
    clients: new Clients(clients, exported, (text) => process.stderr.write(`${text}\n`)),
  };
}

/** Names of the methods that objects of the class have, their own or inherited ones. */
function methodsOf(Class: object): readonly string[] {
  const names = new Set<string>();
  let prototype: unknown = Reflect.get(Class, 'prototype');
  while (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype) {
    for (const name of Object.getOwnPropertyNames(prototype))
      if (typeof Reflect.get(prototype, name) === 'function') names.add(name);
    prototype = Object.getPrototypeOf(prototype);
  }
  names.delete('constructor');
  return [...names];
}

/** Gives the message that answers the call; it never fails. */
async function carryOut(
  { Class, clients }: LoadedClass,
  call: HostCall,
  requests: HostRequests,
  signal: AbortSignal,
  send: (message: object) => void,
): Promise<object> {
  const {
    protocol: _protocol,
    call: method,
    input: _input,
    arguments: words,
    fields,
    claims,
    calls,
    isAction: _isAction,
    plugin: _plugin,
    ...task
  } = call;
  try {
    const log = logTo(send);
    const client = clients.openerOf({ task, fields, log });
    const plugin = new Class({
      task,
      fields,
      signal,
      log,
      client,
      shell: requests.shell,
      ...(claims ? { claims: requests.claims } : {}),
      ...(calls ? { calls: requests.calls } : {}),
    });
    const carry: unknown = Reflect.get(plugin, method);
    if (typeof carry !== 'function') throw new PluginError('Invalid', `the plugin has no method ${method}`);
    const returned: unknown = await Reflect.apply(carry, plugin, words);
    return toAnswer(returned, call);
  } catch (error) {
    return failureOf(error);
  }
}

/** Checked here already: only what is plain can be sent, and the message names the field. */
function toAnswer(returned: unknown, { isAction, plugin }: HostCall): object {
  if (isAction) {
    const { status = 0, ...result } = parseResult(returned, { plugin });
    return { status, ...result };
  }
  if (returned === undefined) return { status: 0, result: null };
  const copy = copyPlainJson(returned, { bytes: sizes.result, depth: 16 });
  if (copy.ok) return { status: 0, result: copy.value };
  throw new PluginError(
    'Invalid',
    `plugin ${plugin} returned what is not plain JSON: ${copy.problems.map(({ path, wrong }) => `${formatPath(path)} ${wrong}`.trim()).join('; ')}`,
  );
}

function logTo(send: (message: object) => void): PluginLog {
  const [debug, info, warn, error] = logLevels.map(
    (log) =>
      (message: string, attributes?: object): void =>
        send({
          log,
          message: String(message),
          attributes: attributes === undefined ? undefined : sendable(attributes),
        }),
  );
  const nothing = (): void => undefined;
  return { debug: debug ?? nothing, info: info ?? nothing, warn: warn ?? nothing, error: error ?? nothing };
}

function sendable(attributes: object): unknown {
  const copy = copyPlainJson(attributes, { bytes: sizes.logLine, depth: 8 });
  return copy.ok ? copy.value : '(attributes that are not plain JSON)';
}
