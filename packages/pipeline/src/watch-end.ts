/** Why a watch ended: the field `end` of its log line and a label of its metric. The meanings are in docs/logs.md. */
export const watchEnds = [
  'timeout',
  'draining',
  'behind',
  'snapshot',
  'removed',
  'stalled',
  'expired',
  'error',
  'client',
] as const;

export type WatchEnd = (typeof watchEnds)[number];
