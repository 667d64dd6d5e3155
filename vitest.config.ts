import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Where a test needs the run's Temporal server or the built product: by folder, or anywhere by its name. All
// others start at once.
const withTemporal = ['test/{workflows,histories}/**/*.test.ts', 'test/**/*.temporal.test.ts'];

// There only when they are asked for by name: `record` writes test/histories, `real` takes long or needs more
// of the system.
const asked = (name: string): boolean => process.argv.includes(name);
const real = 'test/**/*.real.test.ts';

/**
 * Small files that take long. Vitest begins with the large ones, and would keep one processor busy with these
 * in the end.
 */
const longButSmall =
  /\/test\/(?:activities\/console|faults\/(?:faults|model|at-rest)|plugins\/(?:scaffold|suites\/[^/]+)|workflows\/rate-limiter)\./;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [
      ...sorted.filter(({ moduleId }) => longButSmall.test(moduleId)),
      ...sorted.filter(({ moduleId }) => !longButSmall.test(moduleId)),
    ];
  }
}

const shared = {
  pool: 'forks' as const,
  // One process runs file after file: loading the modules anew for each took a third of the time of `unit`.
  isolate: false,
  // A failure shows all that a command printed.
  chaiConfig: { truncateThreshold: 0 },
  setupFiles: ['test/harness/after-file.ts'],
  // Longer than the patience of `until`, which says what it waits for. Machines may be busy, real ones boot, and
  // leases of minutes expire.
  testTimeout: 300_000,
  hookTimeout: 300_000,
};

export default defineConfig({
  test: {
    // Tests often wait for servers, workers and nodes that run beside them: with fewer files at a time two cores are
    // idle for a quarter of the time.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...withTemporal, real],
        },
      },
      {
        test: {
          ...shared,
          name: 'temporal',
          include: withTemporal,
          exclude: [...configDefaults.exclude, real],
          globalSetup: ['test/global-setup.ts'],
        },
      },
      ...(asked('real')
        ? [{ test: { ...shared, name: 'real', include: [real], globalSetup: ['test/global-setup.ts'] } }]
        : []),
      ...(asked('record')
        ? [
            {
              test: {
                ...shared,
                name: 'record',
                include: ['test/**/*.record.ts'],
                globalSetup: ['test/global-setup.ts'],
              },
            },
          ]
        : []),
    ],
  },
});
