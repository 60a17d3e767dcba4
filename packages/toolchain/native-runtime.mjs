import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { ModuleMocker } from 'jest-mock';
import { setGlobals } from './native-globals.mjs';

const require = createRequire(import.meta.url);
/** @type {{ default: typeof import('jest-runtime').default }} */
const { default: JestRuntime } = require('jest-runtime');
const globals = new URL('native-globals.mjs', import.meta.url).href;

/** Modules that only tests load. They may keep state and register hooks for their test file. */
const testModule = /\/packages\/(?:testkit\/src|tests|[\w-]+\/test)\/.*(?<!\.test\.ts)$/;
let testFiles = 0;

// The processes that a test file starts end with the worker, by a listener of each file.
process.setMaxListeners(0);

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: globals, shortCircuit: true };
    const resolved = next(specifier, context);
    return testModule.test(resolved.url) ? { ...resolved, url: `${resolved.url}?${testFiles}` } : resolved;
  },
});

/**
 * Jest calls this with `new`.
 * @param {ConstructorParameters<typeof JestRuntime>} settings
 */
export default function Runtime(...settings) {
  const [, environment] = settings;
  if (environment.getVmContext() !== null) return new JestRuntime(...settings);
  testFiles++;
  return new NativeRuntime();
}

/**
 * Runs test files with Node's own module loader. A worker loads sources once, and V8 optimizes them once. Modules that
 * only tests load are loaded for each test file. Jest's runtime would load everything for each test file.
 * Tests that need sources of their own ask for isolated-environment.mjs, and get Jest's runtime.
 */
class NativeRuntime {
  /** The state of Jest's test framework is that of one test file. */
  requireInternalModule(file) {
    delete require.cache[file];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    return require(file);
  }

  setGlobalsForRuntime(given) {
    setGlobals({ ...given, jest: new ModuleMocker(globalThis) });
  }

  requireModule(file) {
    return require(file);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  unstable_importModule(file) {
    return import(pathToFileURL(file).href);
  }

  enterTestCode() {}

  leaveTestCode() {}

  getSourceMaps() {
    return new Map();
  }

  getAllCoverageInfoCopy() {
    return undefined;
  }

  /** The framework keeps its state, and so all closures of the tests, in the global object. */
  teardown() {
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (symbol.description === 'JEST_STATE_SYMBOL') delete globalThis[symbol];
  }
}
