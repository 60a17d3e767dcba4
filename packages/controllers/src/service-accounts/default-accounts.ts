import { keepInEachNamespace } from '../in-each-namespace.ts';
import type { ControllerOptions, ControllerServices } from '../run-controller.ts';

/** Keeps the ServiceAccount `default` in each namespace. */
export const keepDefaultAccounts = (options: ControllerOptions & ControllerServices): Promise<void> =>
  keepInEachNamespace(options, { kind: 'ServiceAccount', name: 'default', draft: () => ({}) });
