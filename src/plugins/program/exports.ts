/** A named export, or a property of what a CommonJS module exports. */
export function exportOf(module: unknown, name: string): unknown {
  if (typeof module !== 'object' || module === null) return undefined;
  if (Object.hasOwn(module, name)) return Reflect.get(module, name);
  const whole: unknown = Reflect.get(module, 'default');
  return typeof whole === 'object' && whole !== null && Object.hasOwn(whole, name)
    ? Reflect.get(whole, name)
    : undefined;
}

export function wordsForLoading(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
