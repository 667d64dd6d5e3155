import { pathToFileURL } from 'node:url';
import { clientFault } from './clients.js';
import type { PluginContext } from './contract.js';
import type { FoundPlugin } from './find-plugins.js';
import { exportOf } from './program/exports.js';
import type { AutomatorContext, AutomatorWithAbilities, ProviderWithAbilities } from './registered.js';

export type ClassReading<Context, Instance> =
  | {
      readonly ok: true;
      readonly Class: new (context: Context) => Instance;
      readonly abilities: readonly string[];
    }
  | { readonly ok: false; readonly wrong: string };

type ProviderClass = new (context: PluginContext) => ProviderWithAbilities;
type AutomatorClass = new (context: AutomatorContext) => AutomatorWithAbilities;

export const requiredMethods = {
  provider: ['create', 'confirm', 'delete'],
  automator: ['bootstrap', 'install', 'configure', 'init', 'start', 'stop', 'remove'],
} as const;
export const knownAbilities: readonly string[] = [
  'list',
  'find',
  'describe',
  'quota',
  'nodeDeleted',
  'nodeReused',
  'power',
  'images',
  'zones',
  'powerStatus',
  'powerOn',
  'powerOff',
  'powerReset',
  'setBoot',
  'bootTarget',
  'imageExists',
  'imageSize',
  'retrieveImage',
  'load',
  'capture',
  'unload',
  'assignedImage',
  'reach',
  'currentImage',
  'isAsImage',
  'taint',
  'uploadImage',
  'listImages',
  'downloadImage',
  'deleteImage',
  'preCapture',
  'postLoad',
  'preReload',
  'sanitize',
  'checkImage',
  'grantAccess',
  'revokeAccess',
];

export function loadProviderClass(
  plugin: FoundPlugin,
): Promise<ClassReading<PluginContext, ProviderWithAbilities>> {
  return loadClass(plugin, requiredMethods.provider, (value): value is ProviderClass =>
    hasMethods(value, requiredMethods.provider),
  );
}

export function loadAutomatorClass(
  plugin: FoundPlugin,
): Promise<ClassReading<AutomatorContext, AutomatorWithAbilities>> {
  return loadClass(plugin, requiredMethods.automator, (value): value is AutomatorClass =>
    hasMethods(value, requiredMethods.automator),
  );
}

/** What is said of a class that cannot be used. */
export function wordsForMissing(className: string, entry: string, missing: readonly string[]): string {
  return `class ${className} in ${entry} has no method ${missing.join(', ')}`;
}

async function loadClass<Class>(
  { entry, descriptor }: FoundPlugin,
  required: readonly string[],
  isRight: (value: unknown) => value is Class,
): Promise<
  | { readonly ok: true; readonly Class: Class; readonly abilities: readonly string[] }
  | { readonly ok: false; readonly wrong: string }
> {
  const { class: className = '' } = descriptor;
  let exported: unknown;
  try {
    const module: unknown = await import(pathToFileURL(entry).href);
    exported = exportOf(module, className);
  } catch (error) {
    return {
      ok: false,
      wrong: `${entry} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  if (typeof exported !== 'function') return { ok: false, wrong: `${entry} exports no class ${className}` };
  const fault = clientFault(exported, className);
  if (fault !== undefined) return { ok: false, wrong: fault };
  if (isRight(exported))
    return {
      ok: true,
      Class: exported,
      abilities: knownAbilities.filter((name) => methodOf(exported, name)),
    };
  return {
    ok: false,
    wrong: wordsForMissing(
      className,
      entry,
      required.filter((name) => !methodOf(exported, name)),
    ),
  };
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return typeof value === 'function' && names.every((name) => methodOf(value, name));
}

/** Whether objects of the class have the method, their own or an inherited one. */
function methodOf(Class: object, name: string): boolean {
  const prototype: unknown = Reflect.get(Class, 'prototype');
  return (
    typeof prototype === 'object' && prototype !== null && typeof Reflect.get(prototype, name) === 'function'
  );
}
