import type { Clock, Random } from '@cluster-apiserver/base';

/** A client whose clock is behind must not refuse a certificate that was made a moment ago. */
const backdatedMs = 5 * 60_000;
const dayMs = 24 * 60 * 60_000;

export function validity(days: number, clock: Clock): { notBefore: Date; notAfter: Date } {
  const now = clock.now();
  return { notBefore: new Date(now - backdatedMs), notAfter: new Date(now + days * dayMs) };
}

/** 122 random bits behind a leading digit that keeps the number positive and its length the same. */
export const serialNumber = (random: Random): string => `1${random.uuid().replaceAll('-', '').slice(1)}`;
