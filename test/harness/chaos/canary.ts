import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Seven ways in which a secret may be written. */
export function writingsOf(secret: string): Readonly<Record<string, readonly Buffer[]>> {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((offset) => middleOf(bytes, offset));
  const half = Math.ceil(bytes.length / 2);
  const text = (...words: readonly string[]): readonly Buffer[] => words.map((word) => Buffer.from(word));
  return {
    raw: [bytes],
    base64: text(...base64),
    base64url: text(...base64.map((word) => word.replaceAll('+', '-').replaceAll('/', '_'))),
    hex: text(bytes.toString('hex'), bytes.toString('hex').toUpperCase()),
    'URL-encoded': text(encodeURIComponent(secret), encodeURIComponent(secret).replaceAll('%20', '+')),
    'JSON-escaped': text(JSON.stringify(secret).slice(1, -1)),
    // A long half of its own is as good as the whole.
    'split by newline': [bytes.subarray(0, half), bytes.subarray(half)],
  };
}

/** Of base64 the digits that the secret alone decides, whatever stands around it. */
function middleOf(bytes: Buffer, offset: number): string {
  const digits = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  return digits.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

/** Names the writings in which one of the secrets stands there. */
export function findSecrets(content: Buffer, secrets: readonly string[], where: string): readonly string[] {
  return secrets.flatMap((secret, index) =>
    Object.entries(writingsOf(secret))
      .filter(([, forms]) => forms.some((form) => content.includes(form)))
      .map(([writing]) => `secret ${index + 1} stands ${writing} in ${where}`),
  );
}

/** The same for every file of a folder, but those that are meant to hold it. */
export async function searchFolder(
  folder: string,
  secrets: readonly string[],
  except: readonly string[] = [],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !except.includes(path))
      found.push(...findSecrets(await readFile(path).catch(() => Buffer.alloc(0)), secrets, path));
  }
  return found;
}

/**
 * Looks at the words of all processes again and again, as `ps` does; gives what it saw when it is stopped.
 */
export function watchProcesses(secrets: readonly string[]): { stop(): readonly string[] } {
  const found = new Set<string>();
  const look = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        for (const hit of findSecrets(
          readFileSync(`/proc/${pid}/cmdline`),
          secrets,
          'the words of a process',
        ))
          found.add(hit);
      } catch {
        // It has ended.
      }
    }
  };
  const timer = process.platform === 'linux' ? setInterval(look, 1_000) : undefined;
  return {
    stop: () => {
      clearInterval(timer);
      return [...found];
    },
  };
}
