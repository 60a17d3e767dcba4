import type { Attack } from './attack.ts';
import { bodyAttacks } from './bodies.ts';
import { connectionAttacks } from './connections.ts';
import { definitionAttacks } from './definitions.ts';
import { listAttacks } from './lists.ts';
import { watchAttacks } from './watches.ts';

/** No attack: measures the noise of the machine and of the benchmark. */
const baseline: Attack = {
  name: 'baseline',
  reason: 'no attack',
  prepare:
    async ({ signal }) =>
    () =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
};

export const attacks: readonly Attack[] = [
  baseline,
  ...connectionAttacks,
  ...bodyAttacks,
  ...definitionAttacks,
  ...listAttacks,
  ...watchAttacks,
];
