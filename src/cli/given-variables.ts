import { givenByEnvironment } from '../config/index.js';
import type { Json } from '../model/json.js';
import type { GivenValue, GivenValues } from '../schema/cluster/bind.js';
import { maxFileBytes, maxSpecDepth } from '../schema/cluster/compose.js';
import type { VariableDeclaration } from '../schema/cluster/variable.js';
import { isPlainObject } from '../schema/plain-json.js';
import { errorAt, ProblemsError, type Problem } from '../schema/problem.js';
import { readTextFile } from '../schema/read-text.js';
import { suggest } from '../schema/suggest.js';
import { readYaml } from '../schema/yaml-source.js';
import { cleanLine } from './clean-text.js';
import type { Pairs } from './pairs.js';
import { openTerminal, type Terminal } from './terminal.js';

/** How a command line gives values to the variables of a cluster file. */
export interface VariableOptions {
  readonly var?: Pairs;
  readonly varFile?: readonly string[];
  readonly json?: boolean;
}

type Declared = Readonly<Record<string, VariableDeclaration>>;

/**
 * The given values, completed on a terminal by asking for those of variables that have none and no default.
 * @throws ProblemsError for a file of values, with places; CliError Interrupted.
 */
export async function completeVariables(declared: Declared, options: VariableOptions): Promise<GivenValues> {
  const given = givenVariables(declared, options);
  return options.json === true ? given : { ...given, ...(await askMissing(declared, given)) };
}

/**
 * The values of variables: by --var, else the last --var-file that has one, else HEDDLE_VAR_x.
 * @throws ProblemsError for a file of values, with places.
 */
export function givenVariables(
  declared: Declared,
  options: Pick<VariableOptions, 'var' | 'varFile'>,
): GivenValues {
  const given: Record<string, GivenValue> = {};
  for (const [name, text] of Object.entries(givenByEnvironment())) {
    // Other files may use the other variables of an environment.
    if (Object.hasOwn(declared, name))
      given[name] = { value: valueOf(text, declared[name]), by: `HEDDLE_VAR_${name}` };
  }
  for (const file of options.varFile ?? []) Object.assign(given, readValues(file, declared));
  for (const [name, text] of options.var ?? [])
    given[name] = { value: valueOf(text, declared[name]), by: `--var ${name}` };
  return given;
}

/**
 * A text as a value of the variable's type; the text itself if it does not have that type, for
 * the check to report.
 */
function valueOf(text: string, { type = 'text' }: VariableDeclaration = {}): Json {
  if (type === 'text') return text;
  if (type === 'number') return /^\s*$/.test(text) || !Number.isFinite(Number(text)) ? text : Number(text);
  if (type === 'boolean') return text === 'true' || (text === 'false' ? false : text);
  const reading = readYaml(text, '', { bytes: maxFileBytes, depth: maxSpecDepth });
  return reading.ok ? reading.value : text;
}

function readValues(file: string, declared: Declared): GivenValues {
  const fail = (problems: readonly Problem[]): never => {
    throw new ProblemsError(`${file} cannot be used:`, problems);
  };
  const read = readTextFile(file, maxFileBytes);
  if (!read.ok)
    return fail([errorAt([], `cannot read the values: ${read.wrong}`, 'It was named by --var-file.')]);
  const reading = readYaml(read.text, file, { bytes: maxFileBytes, depth: maxSpecDepth });
  if (!reading.ok) return fail(reading.problems);
  const { value, locate } = reading;
  if (!isPlainObject(value))
    return fail([{ ...errorAt([], 'is not a mapping of variables to values'), place: locate([]) }]);
  const unknown = Object.keys(value)
    .filter((name) => !Object.hasOwn(declared, name))
    .map((name) => ({
      ...errorAt([name], 'is not a variable of the cluster file', suggest(name, Object.keys(declared))),
      place: locate([name]),
    }));
  if (unknown.length > 0) fail(unknown);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      { value: item, by: `${file}:${locate([name]).line}` },
    ]),
  );
}

async function askMissing(declared: Declared, given: GivenValues): Promise<GivenValues> {
  const missing = Object.entries(declared).filter(
    ([name, { from, default: fallback }]) =>
      given[name] === undefined && from === undefined && fallback === undefined,
  );
  if (missing.length === 0) return {};
  const terminal = openTerminal();
  if (terminal === undefined) return {};
  const answers: Record<string, GivenValue> = {};
  try {
    for (const [name, variable] of missing)
      answers[name] = { value: await ask(terminal, name, variable), by: 'the answer' };
  } finally {
    terminal.close();
  }
  return answers;
}

async function ask(terminal: Terminal, name: string, variable: VariableDeclaration): Promise<Json> {
  const { description, allowed, secret } = variable;
  const choices = allowed === undefined || secret === true ? '' : ` [${allowed.map(String).join(', ')}]`;
  if (description !== undefined) terminal.say(cleanLine(description));
  const prompt = `${cleanLine(`${name}${choices}:`)} `;
  return valueOf(await (secret === true ? terminal.askMasked(prompt) : terminal.ask(prompt)), variable);
}
