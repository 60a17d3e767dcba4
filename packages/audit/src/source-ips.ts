import { isIP } from 'node:net';

/** What tells where a request comes from. */
export interface RequestSource {
  readonly remoteAddress: string;
  header(name: string): string | undefined;
}

/**
 * The addresses that a request says it came by, and last the one it came from, which cannot be forged. What is no
 * address is left out.
 */
export function findSourceIps(source: RequestSource): readonly string[] {
  const forwarded = source.header('x-forwarded-for');
  const ips = forwarded ? forwarded.split(',').map(normalizeAddress).filter(isAddress) : [];
  const real = normalizeAddress(source.header('x-real-ip') ?? '');
  if (isAddress(real) && !ips.includes(real)) ips.push(real);
  const remote = normalizeAddress(source.remoteAddress);
  if (isAddress(remote) && ips.at(-1) !== remote) ips.push(remote);
  return ips;
}

const mappedPrefix = '::ffff:';

/** An IPv4 address that a socket for both families has is written as one. */
function normalizeAddress(text: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith(mappedPrefix) && isIP(trimmed.slice(mappedPrefix.length)) === 4
    ? trimmed.slice(mappedPrefix.length)
    : trimmed;
}

const isAddress = (text: string): boolean => isIP(text) !== 0;
