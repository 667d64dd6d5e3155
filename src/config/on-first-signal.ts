/**
 * Handles the first of each of these signals; a second one has its default effect. Unlike a listener by `once`,
 * it is still there while other listeners run: as long as a file is written, signal-exit (of write-file-atomic)
 * ends the process if its own listener is the only one.
 * @returns a function that stops it.
 */
export function onFirstSignal<Name extends NodeJS.Signals>(
  names: readonly Name[],
  handle: (name: Name) => void,
): () => void {
  const stops = names.map((name) => {
    const listener = (): void => {
      setImmediate(stop);
      handle(name);
    };
    const stop = (): void => void process.off(name, listener);
    process.on(name, listener);
    return stop;
  });
  return () => stops.forEach((stop) => stop());
}
