import type { Clock, Random } from '@cluster-apiserver/base';

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Tolerates clients whose clock is behind. */
const backdatedMs = 5 * 60_000;
const dayMs = 24 * 60 * 60_000;

export function createValidity(days: number, clock: Clock): Validity {
  const now = clock.now();
  return { notBeforeMs: now - backdatedMs, notAfterMs: now + days * dayMs };
}

/** In hex: 122 random bits after a leading digit that keeps the number positive and of constant length. */
export const createSerialNumber = (random: Random): string => `1${random.uuid().replaceAll('-', '').slice(1)}`;
