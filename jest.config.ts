import type { Config } from 'jest';

/** Tests run from source as ES modules; the ending of a file says what it needs (see CONTRIBUTING.md). */
const config: Config = {
  rootDir: '.',
  roots: ['<rootDir>/packages'],
  testMatch: ['**/*.test.ts'],
  testEnvironment: '<rootDir>/packages/toolchain/native-environment.mjs',
  runtime: '<rootDir>/packages/toolchain/native-runtime.mjs',
  testEnvironmentOptions: { customExportConditions: ['source', 'node'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } }],
  },
  testSequencer: '<rootDir>/packages/toolchain/sequencer.mjs',
  testTimeout: 60_000,
  // No test may depend on the others of its file. Each run prints its seed, and --seed=NUMBER repeats its order.
  randomize: true,
  // Finished test files leave memory behind, and collecting a large heap again and again takes most of the time. Jest
  // compares the used heap, not the resident memory, which may be thrice as large, and then replaces the worker.
  workerIdleMemoryLimit: '300MB',
};

export default config;
