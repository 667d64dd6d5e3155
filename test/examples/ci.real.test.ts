import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';

const examples = join(import.meta.dirname, '../../examples/ci');

/** What `npm run setup:extras` builds. */
const buildkiteAgent = join(
  loadConfig({ cwd: '/' }).cacheFolder,
  'buildkite-agent',
  'buildkite-agent-3.62.0',
);

/**
 * The scripts run as they are. The services of the CI systems are replaced, and all programs
 * but Buildkite's agent.
 */
describe('the examples for CI systems', () => {
  let stack: Stack;
  let bin: string;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    const offer = { hardware: 'tiny', image: 'host' };
    writeFileSync(
      join(stack.folder, 'pools.yaml'),
      stringify({
        pools: {
          ci: {
            labels: { small: {}, runner: {} },
            providerPools: {
              main: { provider: 'local', limits: { nodes: 2 }, labels: { small: offer, runner: offer } },
            },
          },
        },
      }),
    );
    await json('pool', 'apply', 'pools.yaml');
    bin = join(stack.folder, 'bin');
    mkdirSync(bin);
    const heddle = join(bin, 'heddle');
    writeFileSync(
      heddle,
      `#!/bin/sh\nexec '${process.execPath}' '${join(inject('distPath'), 'cli-bundle/main.js')}' "$@"\n`,
    );
    chmodSync(heddle, 0o755);
  });

  const { json } = heddleOn(() => stack);
  const script = (
    command: readonly [string, ...string[]],
    env: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }> =>
    new Promise((resolve) => {
      const [program, ...words] = command;
      execFile(
        program,
        words,
        {
          cwd: stack.folder,
          env: {
            PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
            HOME: stack.folder,
            HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
            TEMPORAL_ADDRESS: inject('temporalAddress'),
            TEMPORAL_NAMESPACE: stack.namespace,
            ...env,
          },
        },
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
      );
    });
  const requestsOf = async (requester: string): Promise<readonly unknown[]> => {
    const { requests } = (await json('request', 'list', 'ci')) as {
      readonly requests: readonly { readonly requester: string; readonly state: string }[];
    };
    return requests.filter((request) => request.requester.startsWith(requester)).map(({ state }) => state);
  };
  const checkout = (name: string): string => {
    const folder = join(stack.folder, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'Makefile'), 'test:\n\t@echo "tested on $$HEDDLE_NODE"\n');
    return folder;
  };

  describe('of GitHub Actions', () => {
    let api: Server;
    const asked: string[] = [];
    beforeAll(async () => {
      api = createServer((request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => (body += chunk.toString()));
        request.on('end', () => {
          asked.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
          response.end(JSON.stringify({ encoded_jit_config: 'jit-of-this-runner' }));
        });
      });
      await new Promise<void>((resolve) => {
        api.listen(0, '127.0.0.1', resolve);
      });
    });
    afterAll(() => api.close());

    it('register an ephemeral runner, which runs on a node', async () => {
      const runner = join(stack.folder, 'actions-runner');
      mkdirSync(runner);
      writeFileSync(join(runner, 'run.sh'), '#!/bin/sh\necho "$HEDDLE_NODE: $*"\n', { mode: 0o755 });
      const ended = await script([join(examples, 'github/runner.sh')], {
        GITHUB_TOKEN: 'token-of-github',
        GITHUB_REPOSITORY: 'acme/web',
        GITHUB_API_URL: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
        RUNNER_FOLDER: runner,
      });
      expect(ended).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^runner-\d+: --jitconfig jit-of-this-runner\n$/) as string,
      });
      expect(asked).toEqual([
        expect.stringMatching(
          /^POST \/repos\/acme\/web\/actions\/runners\/generate-jitconfig Bearer token-of-github .*"runner"/,
        ),
      ]);
      expect(await requestsOf('heddle-')).toEqual(['returned']);
    });
  });

  describe('of GitLab', () => {
    const job = {
      CUSTOM_ENV_CI_JOB_ID: '71',
      CUSTOM_ENV_HEDDLE_POOL: 'ci',
      BUILD_FAILURE_EXIT_CODE: '1',
      SYSTEM_FAILURE_EXIT_CODE: '2',
    };
    /** As GitLab Runner writes them. */
    const step = (name: string, text: string): string => {
      const folder = join(stack.folder, `step-${name}`);
      mkdirSync(folder);
      const file = join(folder, 'script.sh');
      writeFileSync(file, `#!/usr/bin/env bash\nset -eo pipefail\n${text}\n`, { mode: 0o755 });
      return file;
    };
    const run = (name: string, text: string): ReturnType<typeof script> =>
      script([join(examples, 'gitlab/run.sh'), step(name, text), name], job);

    it('run all steps of a job on one node, and return it', async () => {
      expect(await script([join(examples, 'gitlab/prepare.sh')], job)).toMatchObject({ code: 0 });
      expect(await run('get_sources', 'echo content > "$HOME/source"; echo "$HEDDLE_NODE"')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^small-\d+\n$/) as string,
      });
      expect(await run('build_script', 'cat "$HOME/source"')).toMatchObject({ code: 0, stdout: 'content\n' });
      expect(await run('after_script', 'exit 4')).toMatchObject({ code: 1 });
      expect(await requestsOf('gitlab-job-71')).toEqual(['fulfilled']);
      expect(await script([join(examples, 'gitlab/cleanup.sh')], job)).toMatchObject({ code: 0 });
      expect(await requestsOf('gitlab-job-71')).toEqual(['cancelled']);
    });

    it('report a job without a node as a failure of the system', async () => {
      const missing = { ...job, CUSTOM_ENV_HEDDLE_LABEL: 'huge' };
      expect(await script([join(examples, 'gitlab/prepare.sh')], missing)).toMatchObject({ code: 2 });
    });
  });

  it('of Buildkite runs the command of a step with its checkout', async () => {
    const ended = await script([join(examples, 'buildkite/hooks/command')], {
      BUILDKITE_JOB_ID: 'job-1',
      BUILDKITE_BUILD_CHECKOUT_PATH: checkout('buildkite'),
      BUILDKITE_COMMAND: 'make test\nexit 9',
    });
    expect(ended).toMatchObject({
      code: 9,
      stdout: expect.stringMatching(/^tested on small-\d+\n$/) as string,
    });
    expect(await requestsOf('buildkite-job-1')).toEqual(['returned']);
  });

  it.skipIf(!existsSync(buildkiteAgent))(
    'of Buildkite is run by a real agent, which ends as the command on the node does',
    async () => {
      symlinkSync(buildkiteAgent, join(bin, 'buildkite-agent'));
      const ended = await script(['buildkite-agent', 'bootstrap'], {
        BUILDKITE_AGENT_ACCESS_TOKEN: 'unused',
        BUILDKITE_AGENT_NAME: 'agent',
        BUILDKITE_BOOTSTRAP_PHASES: 'command',
        BUILDKITE_BRANCH: 'main',
        BUILDKITE_BUILD_CHECKOUT_PATH: checkout('buildkite-agent'),
        BUILDKITE_BUILD_PATH: join(stack.folder, 'builds'),
        BUILDKITE_COMMAND: 'make test\nexit 9',
        BUILDKITE_COMMIT: 'HEAD',
        BUILDKITE_HOOKS_PATH: join(examples, 'buildkite/hooks'),
        BUILDKITE_JOB_ID: 'job-2',
        BUILDKITE_ORGANIZATION_SLUG: 'acme',
        BUILDKITE_PIPELINE_PROVIDER: 'git',
        BUILDKITE_PIPELINE_SLUG: 'web',
        BUILDKITE_PTY: 'false',
        BUILDKITE_REPO: 'unused',
      });
      expect(ended).toMatchObject({
        code: 9,
        stdout: expect.stringMatching(/^tested on small-\d+$/m) as string,
      });
      expect(await requestsOf('buildkite-job-2')).toEqual(['returned']);
    },
  );

  it('of Jenkins runs the tests of the workspace', async () => {
    const step = /sh '(.*)'/.exec(readFileSync(join(examples, 'jenkins/Jenkinsfile'), 'utf8'))?.[1] ?? '';
    const ended = await script(['/bin/sh', '-xe', '-c', step], {
      HEDDLE_LABEL: 'small',
      BUILD_TAG: 'jenkins-web-12',
      WORKSPACE: checkout('jenkins'),
    });
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^tested on small-\d+\n$/) as string,
    });
    expect(await requestsOf('jenkins-web-12')).toEqual(['returned']);
  });

  it('every example is run by a test', () => {
    expect(readdirSync(examples).toSorted()).toEqual(['buildkite', 'github', 'gitlab', 'jenkins']);
  });
});
