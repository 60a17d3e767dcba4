import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Jest's environment with an ordinary global object. Jest makes the global object from a Proxy: each mention of `Object`,
 * `Map` or `JSON` in a test or a source then calls an interceptor, which costs a fifth to a half of the CPU time
 * of tests that compute.
 */
export default class OrdinaryGlobals extends TestEnvironment {
  /** @param {ConstructorParameters<typeof TestEnvironment>} settings */
  constructor(...settings) {
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(...settings);
    } finally {
      vm.createContext = createContext;
    }
  }
}
