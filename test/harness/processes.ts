import { readdirSync, readFileSync } from 'node:fs';

/** Processes of this machine whose arguments hold a text. */
export function processesWith(text: string): readonly { readonly pid: number; readonly line: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return { pid: Number(pid), line: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') };
      } catch {
        return { pid: Number(pid), line: '' };
      }
    })
    .filter(({ line }) => line.includes(text));
}
