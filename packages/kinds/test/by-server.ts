import type { WriteContext } from '@cluster-apiserver/model/kind';
import { namespaceKind } from '../src/namespace/namespace.ts';

/** For rules that do not depend on who writes an object, and in which version. */
export const byServer: WriteContext = {
  user: undefined,
  served: namespaceKind,
  subresource: undefined,
  nowMs: 0,
  warn: () => {},
};
