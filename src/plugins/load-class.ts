import { pathToFileURL } from 'node:url';
import type { Automator, PluginContext } from './contract.js';
import type { FoundPlugin } from './find-plugins.js';
import type { AutomatorContext, ProviderWithAbilities } from './registry.js';

export type ClassReading<Context, Instance> =
  | { readonly ok: true; readonly Class: new (context: Context) => Instance; readonly abilities: readonly string[] }
  | { readonly ok: false; readonly wrong: string };

type ProviderClass = new (context: PluginContext) => ProviderWithAbilities;
type AutomatorClass = new (context: AutomatorContext) => Automator;

const providerMethods = ['create', 'confirm', 'delete'] as const;
const automatorMethods = ['bootstrap', 'install', 'configure', 'init', 'start', 'stop', 'remove'] as const;
const providerAbilities = ['list', 'find', 'describe', 'quota', 'power', 'images', 'zones'] as const;

export function loadProviderClass(plugin: FoundPlugin): Promise<ClassReading<PluginContext, ProviderWithAbilities>> {
  return loadClass(plugin, providerMethods, (value): value is ProviderClass => hasMethods(value, providerMethods));
}

export function loadAutomatorClass(plugin: FoundPlugin): Promise<ClassReading<AutomatorContext, Automator>> {
  return loadClass(plugin, automatorMethods, (value): value is AutomatorClass => hasMethods(value, automatorMethods));
}

async function loadClass<Class>(
  { entry, descriptor }: FoundPlugin, required: readonly string[], isRight: (value: unknown) => value is Class,
): Promise<{ readonly ok: true; readonly Class: Class; readonly abilities: readonly string[] } | { readonly ok: false; readonly wrong: string }> {
  let exported: unknown;
  try {
    const module: unknown = await import(pathToFileURL(entry).href);
    exported = exportOf(module, descriptor.class);
  } catch (error) {
    return { ok: false, wrong: `${entry} cannot be loaded: ${wordsFor(error, entry)}` };
  }
  if (typeof exported !== 'function') return { ok: false, wrong: `${entry} exports no class ${descriptor.class}` };
  if (isRight(exported)) return { ok: true, Class: exported, abilities: providerAbilities.filter((name) => methodOf(exported, name)) };
  const missing = required.filter((name) => !methodOf(exported, name));
  return { ok: false, wrong: `class ${descriptor.class} in ${entry} has no method ${missing.join(', ')}` };
}

/** A named export, or a property of what a CommonJS module exports. */
function exportOf(module: unknown, name: string): unknown {
  if (typeof module !== 'object' || module === null) return undefined;
  if (Object.hasOwn(module, name)) return Reflect.get(module, name);
  const whole: unknown = Reflect.get(module, 'default');
  return typeof whole === 'object' && whole !== null && Object.hasOwn(whole, name) ? Reflect.get(whole, name) : undefined;
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return typeof value === 'function' && names.every((name) => methodOf(value, name));
}

/** Whether objects of the class have the method, their own or an inherited one. */
function methodOf(Class: object, name: string): boolean {
  const prototype: unknown = Reflect.get(Class, 'prototype');
  return typeof prototype === 'object' && prototype !== null && typeof Reflect.get(prototype, name) === 'function';
}

function wordsFor(error: unknown, entry: string): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ERR_UNKNOWN_FILE_EXTENSION' || !entry.endsWith('.ts')) return message;
  return `Node ${process.versions.node} reads no TypeScript; compile it to .js, or use Node 22.18 or later`;
}
