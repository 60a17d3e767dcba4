import { isIP } from 'node:net';

/** The origin of a request. */
export interface RequestSource {
  readonly remoteAddress: string;
  header(name: string): string | undefined;
}

/**
 * The addresses of proxy headers, and last the remote address, which cannot be forged. Invalid addresses are dropped.
 */
export function findSourceIps(source: RequestSource): readonly string[] {
  const forwarded = source.header('x-forwarded-for');
  const realIp = source.header('x-real-ip');
  if (!forwarded && !realIp) return findRemoteIp(source.remoteAddress);
  const ips = forwarded ? forwarded.split(',').map(normalizeAddress).filter(isAddress) : [];
  const real = normalizeAddress(realIp ?? '');
  if (isAddress(real) && !ips.includes(real)) ips.push(real);
  const remote = normalizeAddress(source.remoteAddress);
  if (isAddress(remote) && ips.at(-1) !== remote) ips.push(remote);
  return ips;
}

/** Caches the last one: the requests of a connection often arrive together. */
let last: { readonly address: string; readonly ips: readonly string[] } = { address: '', ips: [] };

function findRemoteIp(address: string): readonly string[] {
  if (address !== last.address) {
    const ip = normalizeAddress(address);
    last = { address, ips: isAddress(ip) ? [ip] : [] };
  }
  return last.ips;
}

const mappedPrefix = '::ffff:';

/** Converts an IPv4-mapped IPv6 address, as dual-stack sockets have it, to IPv4. */
function normalizeAddress(text: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith(mappedPrefix) && isIP(trimmed.slice(mappedPrefix.length)) === 4
    ? trimmed.slice(mappedPrefix.length)
    : trimmed;
}

const isAddress = (text: string): boolean => isIP(text) !== 0;
