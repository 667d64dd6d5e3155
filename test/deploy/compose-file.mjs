// @ts-check
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/**
 * @typedef {object} Service
 * @property {string} name
 * @property {string | undefined} image
 * @property {readonly string[]} command entrypoint and command
 * @property {Readonly<Record<string, string>>} environment
 * @property {readonly { source: string, target: string }[]} mounts a source that begins with a dot is a path,
 * else a volume
 * @property {readonly string[] | undefined} healthcheck
 */

/**
 * Reads docker-compose.yml as Compose does, as far as we use it: anchors, and variables from an .env file.
 * @param {string} root folder of both files
 * @param {string} envFile
 * @returns {Readonly<Record<string, Service>>}
 */
export function readCompose(root, envFile) {
  const variables = readEnvFile(envFile);
  const document = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
  const filled = /** @type {{ services: Record<string, any> }} */ (fillIn(document, variables));
  return Object.fromEntries(
    Object.entries(filled.services).map(([name, service]) => [
      name,
      {
        name,
        image: service.image,
        command: [...(service.entrypoint ?? []), ...(service.command ?? [])],
        environment: Object.fromEntries(
          Object.entries(service.environment ?? {}).map(([key, value]) => [key, String(value)]),
        ),
        mounts: (service.volumes ?? []).map(readMount),
        healthcheck: service.healthcheck?.test?.slice(1),
      },
    ]),
  );
}

/** @param {string} volume `source:target[:ro]` */
function readMount(volume) {
  const [source = '', target = ''] = volume.split(':');
  return { source, target };
}

/** @param {string} file @returns {Record<string, string>} */
export function readEnvFile(file) {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, name, quoted, plain] = /^(\w+)=(?:'(.*)'|(.*))$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, quoted ?? plain ?? '']];
    });
  return Object.fromEntries(lines);
}

/** @param {unknown} value @param {Readonly<Record<string, string>>} variables @returns {unknown} */
function fillIn(value, variables) {
  if (typeof value === 'string') {
    return value.replaceAll(/\$\{(\w+)(:\?|:-)?([^}]*)\}/g, (_all, name, operator, rest) => {
      const given = variables[name];
      if (given !== undefined && given !== '') return given;
      if (operator === ':-') return rest;
      throw new Error(`${name} is not set${rest === '' ? '' : `: ${rest}`}`);
    });
  }
  if (Array.isArray(value)) return value.map((item) => fillIn(item, variables));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillIn(item, variables)]));
}
