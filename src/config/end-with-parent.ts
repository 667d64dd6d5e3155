/** The program that started this one holds the other end of a channel, which closes even if it is killed. */
export function endWithParent(onEnd: () => void): void {
  process.once('disconnect', onEnd);
  process.channel?.unref();
  // It was killed while this program was loaded.
  if (process.connected === false) onEnd();
}
