/** Whether a path names what it seems to: no part of it is empty, `.` or `..`. */
export function isPlainPath(path: string): boolean {
  return path
    .split('/')
    .every((part, index) => (part !== '' || index === 0) && part !== '.' && part !== '..');
}
