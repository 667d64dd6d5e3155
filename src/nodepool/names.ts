import { warningAt, type Path, type Problem } from '../schema/problem.js';

/**
 * Maps names of Nodepool, which may be any text, to unique valid names. The same name always
 * maps to the same result.
 */
export class Names {
  readonly #longest: number;
  readonly #given = new Map<string, string>();

  constructor(longest: number) {
    this.#longest = longest;
  }

  of(name: string): string {
    const known = this.#given.get(name);
    if (known !== undefined) return known;
    const plain =
      name
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')
        .replaceAll(/^-+|-+$/g, '')
        .slice(0, this.#longest)
        .replace(/-+$/, '') || 'unnamed';
    const taken = new Set(this.#given.values());
    let chosen = plain;
    for (let number = 2; taken.has(chosen); number += 1)
      chosen = `${plain.slice(0, this.#longest - String(number).length - 1)}-${number}`;
    this.#given.set(name, chosen);
    return chosen;
  }

  /** The same for another object of that name. */
  another(name: string): string {
    let wanted = name;
    for (let number = 2; this.#given.has(wanted); number += 1) wanted = `${name} ${number}`;
    return this.of(wanted);
  }

  /** A warning if the name was changed. */
  remark(name: string, path: Path): readonly Problem[] {
    const given = this.of(name);
    return given === name
      ? []
      : [
          warningAt(
            path,
            `"${name}" is renamed ${given}`,
            'Names consist of lower-case letters, digits and hyphens.',
          ),
        ];
  }
}
