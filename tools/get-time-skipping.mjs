// @ts-check
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder, isMain, root, runMain, say } from './environment.mjs';
import { withFetchFolder } from './fetch-folder.mjs';
import { withLock } from './lock.mjs';
import { runProgram } from './run-program.mjs';

const version = '1.38.0';

/**
 * The path of a program that runs Temporal's time-skipping test server, `PROGRAM PORT`; for tests that wait
 * for hours. It is Java: fetched once from Maven Central into the cache folder, checked against the committed
 * digests. Throws with words when Java or Maven is missing.
 * @param {{ env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<string>}
 */
export async function getTimeSkipping({ env = process.env } = {}) {
  const target = join(cacheFolder(env), 'temporal-test-server', version);
  const program = join(target, 'temporal-test-server');
  await requireProgram('java', '-version', env);
  if (existsSync(program)) return verified(target, program);
  return withLock(`${target}.lock`, {
    waiting: () => say(`waiting for another process that fetches the time-skipping server to ${target}`),
    work: async () => {
      if (!existsSync(program)) await fetchServer(target, program, env);
      return verified(target, program);
    },
  });
}

/**
 * What was fetched earlier is checked as what is fetched now.
 * @param {string} target
 * @param {string} program
 */
async function verified(target, program) {
  await checkDigests(join(target, 'lib'));
  if ((await readFile(program, 'utf8')) !== script)
    throw new Error(`${program} was changed; remove ${target}`);
  return program;
}

/** @param {string} target @param {string} program @param {NodeJS.ProcessEnv} env */
async function fetchServer(target, program, env) {
  await requireProgram('mvn', '--version', env);
  say(
    `fetching Temporal's time-skipping test server ${version} by Maven (39 jars, 38 MB, up to 3 minutes), once: tests that wait for hours need it`,
  );
  await withFetchFolder(dirname(target), async (folder) => {
    await writeFile(join(folder, 'pom.xml'), project);
    const goal = [
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${join(folder, 'lib')}`,
    ];
    await runProgram('mvn', ['-B', '-q', '-f', join(folder, 'pom.xml'), ...goal], {
      env,
      limitMs: 1_200_000,
    });
    await checkDigests(join(folder, 'lib'));
    await writeFile(join(folder, 'temporal-test-server'), script);
    await chmod(join(folder, 'temporal-test-server'), 0o755);
    await rm(target, { recursive: true, force: true });
    await mkdir(target);
    await rename(join(folder, 'lib'), join(target, 'lib'));
    // Last: whoever sees the program sees all of it.
    await rename(join(folder, 'temporal-test-server'), program);
  });
}

/** @param {string} lib */
async function checkDigests(lib) {
  /** @type {string[]} */
  const lines = [];
  for (const name of (await readdir(lib)).sort()) {
    lines.push(
      `${createHash('sha256')
        .update(await readFile(join(lib, name)))
        .digest('hex')}  ${name}`,
    );
  }
  const wanted = (await readFile(join(root, 'tools', 'time-skipping.sha256'), 'utf8')).trim().split('\n');
  const strange = [
    ...lines.filter((line) => !wanted.includes(line)),
    ...wanted.filter((line) => !lines.includes(line)),
  ];
  if (strange.length > 0)
    throw new Error(`${lib} does not hold what tools/time-skipping.sha256 names:\n  ${strange.join('\n  ')}`);
}

/** @param {string} program @param {string} option @param {NodeJS.ProcessEnv} env */
async function requireProgram(program, option, env) {
  try {
    await runProgram(program, [option], { env, limitMs: 30_000 });
  } catch (cause) {
    const install =
      'install a Java 17 runtime and Maven (Debian: apt-get install openjdk-17-jre-headless maven)';
    throw new Error(`the time-skipping test server needs ${program}, which does not run here; ${install}`, {
      cause,
    });
  }
}

const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>heddle</groupId>
  <artifactId>time-skipping</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>io.temporal</groupId><artifactId>temporal-test-server</artifactId><version>${version}</version></dependency>
  </dependencies>
</project>
`;

// exec, so that whoever ends the program ends Java.
const script = `#!/bin/sh
here=$(dirname "$0")
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$here/lib/*" io.temporal.testserver.TestServer "$@"
`;

if (isMain(import.meta.url)) await runMain(async () => process.stdout.write(`${await getTimeSkipping()}\n`));
