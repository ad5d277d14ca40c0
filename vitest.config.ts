import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that take tens of seconds come first, so that no worker begins one when the others have nothing left to do. */
const LONG = [/\/test\/crash\//, /\/test\/e2e\//];

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = LONG.findIndex((pattern) => pattern.test(moduleId));
  return rank < 0 ? LONG.length : rank;
};

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

// Node reads the certificates at every start: 50 ms for each process of a test, and none of them calls anybody.
delete process.env['NODE_EXTRA_CA_CERTS'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // test/helpers/use-memory.ts puts back what a file could leave to the next one.
    isolate: false,
    globalSetup: ['test/helpers/memory.ts'],
    setupFiles: ['test/helpers/use-memory.ts'],
    sequence: { sequencer: LongFirst },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 3,
  },
});
