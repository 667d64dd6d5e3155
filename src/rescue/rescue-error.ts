/** A part of the rescue system that is absent or cannot be used; the message says what to install. */
export class RescueError extends Error {
  override readonly name = 'RescueError';
}
