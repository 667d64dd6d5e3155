import { configDefaults, defineConfig } from 'vitest/config';

// Where a test needs the run's Temporal server: by folder, or anywhere by its name. All others start at once.
const withTemporal = ['test/{workflows,client,cli,worker,system,histories}/**/*.test.ts', 'test/**/*.temporal.test.ts'];

// Writes test/histories; there only when it is asked for by name, so that no other run records.
const record = process.argv.includes('record');

const shared = { pool: 'forks', testTimeout: 60_000, hookTimeout: 60_000 } as const;

export default defineConfig({
  test: {
    // A server, a worker and real SSH servers run beside the tests: more at once only makes each slower.
    maxWorkers: 2,
    projects: [
      { test: { ...shared, name: 'unit', include: ['test/**/*.test.ts'], exclude: [...configDefaults.exclude, ...withTemporal] } },
      { test: { ...shared, name: 'temporal', include: withTemporal, globalSetup: ['test/global-setup.ts'] } },
      ...(record ? [{ test: { ...shared, name: 'record', include: ['test/**/*.record.ts'], globalSetup: ['test/global-setup.ts'] } }] : []),
    ],
  },
});
