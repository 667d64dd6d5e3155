/** The parent process has the other end of an IPC channel, which closes even if the parent is killed. */
export function endWithParent(onEnd: () => void): void {
  process.once('disconnect', onEnd);
  process.channel?.unref();
  // The parent was killed while this program was loading.
  if (process.connected === false) onEnd();
}
