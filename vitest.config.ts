import { configDefaults, defineConfig } from 'vitest/config';

// Where a test needs the run's Temporal server: by folder, or anywhere by its name. All others start at once.
const withTemporal = ['test/{workflows,client,cli,worker,system,histories}/**/*.test.ts', 'test/**/*.temporal.test.ts'];

// There only when they are asked for by name: `record` writes test/histories, `real` takes long or needs more of the system.
const asked = (name: string): boolean => process.argv.includes(name);
const real = 'test/**/*.real.test.ts';

const shared = { pool: 'forks', testTimeout: 120_000, hookTimeout: 60_000 } as const;

export default defineConfig({
  test: {
    // A server, a worker and real SSH servers run beside the tests, and often wait: three on two cores leave neither idle.
    maxWorkers: 3,
    projects: [
      { test: { ...shared, name: 'unit', include: ['test/**/*.test.ts'], exclude: [...configDefaults.exclude, ...withTemporal, real] } },
      { test: { ...shared, name: 'temporal', include: withTemporal, exclude: [...configDefaults.exclude, real], globalSetup: ['test/global-setup.ts'] } },
      ...(asked('real') ? [{ test: { ...shared, name: 'real', include: [real], globalSetup: ['test/global-setup.ts'] } }] : []),
      ...(asked('record') ? [{ test: { ...shared, name: 'record', include: ['test/**/*.record.ts'], globalSetup: ['test/global-setup.ts'] } }] : []),
    ],
  },
});
