import type { WriteContext } from '@cluster-apiserver/model/kind';

/** For rules that do not depend on who writes an object. */
export const byServer: WriteContext = { user: undefined, subresource: undefined, nowMs: 0, warn: () => {} };
