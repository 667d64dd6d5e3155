import { pathToFileURL } from 'node:url';
import { clientFault } from './clients.js';
import { abilities } from './abilities.js';
import type { Descriptor } from '../schema/descriptor.js';
import type { FoundPlugin } from './find-plugins.js';

export interface LoadedClass<Context, Instance> {
  readonly Class: (new (context: Context) => Instance) & {
    /** Of built-in plugins: `rules` of the descriptor. */
    readonly checkFields?: Descriptor['rules'];
  };
  /** Names of the methods of its objects, inherited ones included. */
  readonly methods: readonly string[];
}

/**
 * Imports a module and returns the class that it exports. @throws Error with the reason if it cannot be used.
 */
export async function loadClass<Context, Instance>(
  entry: string,
  name: string,
): Promise<LoadedClass<Context, Instance>> {
  const module = await importModule(entry);
  // A CommonJS module exports its class as a property of `default`.
  const { default: whole } = module;
  const exported =
    module[name] ??
    (typeof whole === 'object' && whole !== null ? (Reflect.get(whole, name) as unknown) : undefined);
  if (typeof exported !== 'function') throw new Error(`${entry} does not export a class ${name}`);
  const fault = clientFault(exported, name);
  if (fault !== undefined) throw new Error(fault);
  return { Class: exported as LoadedClass<Context, Instance>['Class'], methods: methodsOf(exported) };
}

async function importModule(entry: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(entry).href)) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`${entry} cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

/** The abilities of a class with these methods. @throws Error naming missing required methods. */
export function abilitiesOf(
  { entry, descriptor: { type, class: name } }: FoundPlugin,
  methods: readonly string[],
): readonly string[] {
  const missing = requiredMethods[type].filter((method) => !methods.includes(method));
  if (missing.length > 0) throw new Error(`class ${name} in ${entry} has no method ${missing.join(', ')}`);
  return abilities[type].filter((method) => methods.includes(method));
}

const requiredMethods = {
  provider: ['create', 'confirm', 'delete'],
  automator: ['bootstrap', 'install', 'configure', 'init', 'start', 'stop', 'remove'],
} as const;
/** Does not call getters, because they would run code of the plugin. */
function methodsOf(Class: object): readonly string[] {
  const names = new Set<string>();
  let prototype: unknown = Reflect.get(Class, 'prototype');
  while (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (typeof value === 'function') names.add(name);
    prototype = Object.getPrototypeOf(prototype);
  }
  names.delete('constructor');
  return [...names];
}
