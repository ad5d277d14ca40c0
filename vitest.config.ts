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

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/memory.ts'],
    setupFiles: ['test/helpers/use-memory.ts'],
    sequence: { sequencer: LongFirst },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 3,
  },
});
