import { warningAt, type Path, type Problem } from '../problem.js';

/**
 * Gives names of Nodepool's, which may be any text, names of ours; the same name always the same one, and no
 * two the same.
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

  /** The same for one more thing of that name. */
  another(name: string): string {
    let wanted = name;
    for (let number = 2; this.#given.has(wanted); number += 1) wanted = `${name} ${number}`;
    return this.of(wanted);
  }

  /** What is to be said of the name, where it became another one. */
  remark(name: string, path: Path): readonly Problem[] {
    const given = this.of(name);
    return given === name
      ? []
      : [
          warningAt(
            path,
            `"${name}" is called ${given} here`,
            'Names are of lower-case letters, digits and hyphens.',
          ),
        ];
  }
}
