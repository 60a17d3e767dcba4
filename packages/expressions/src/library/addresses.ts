import { type Cidr, Ip, parseCidr, parseIp } from '../values/ip.ts';
import type { Value } from '../values/value.ts';
import { defineFunction, defineMethod, type Overload, withCost } from './overload.ts';
import { succeeds } from './succeeds.ts';

/** An address is read group by group. */
const steps = 12;

/** Kubernetes' functions for IP addresses and their ranges. */
export const addresses: readonly Overload[] = [
  defineFunction('ip(string) -> net.IP', withCost(steps, parseIp)),
  defineFunction(
    'isIP(string) -> bool',
    withCost(steps, (text: string) => succeeds(() => parseIp(text))),
  ),
  defineFunction(
    'ip.isCanonical(string) -> bool',
    withCost(steps, (text: string) => parseIp(text).toString() === text),
  ),
  defineFunction('string(net.IP) -> string', withCost(steps, String)),
  ipMethod('family() -> int', ({ bits }) => (bits === 32 ? 4n : 6n)),
  ipMethod('isUnspecified() -> bool', ({ value }) => value === 0n),
  ipMethod('isLoopback() -> bool', isLoopback),
  ipMethod('isLinkLocalMulticast() -> bool', isLinkLocalMulticast),
  ipMethod('isLinkLocalUnicast() -> bool', isLinkLocalUnicast),
  ipMethod(
    'isGlobalUnicast() -> bool',
    (ip) =>
      ip.value !== 0n &&
      !(ip.bits === 32 && ip.value === 0xffffffffn) &&
      !isLoopback(ip) &&
      !isMulticast(ip) &&
      !isLinkLocalUnicast(ip),
  ),

  defineFunction('cidr(string) -> net.CIDR', withCost(steps, parseCidr)),
  defineFunction(
    'isCIDR(string) -> bool',
    withCost(steps, (text: string) => succeeds(() => parseCidr(text))),
  ),
  defineFunction('string(net.CIDR) -> string', withCost(steps, String)),
  cidrMethod('ip() -> net.IP', ({ address }) => address),
  cidrMethod('prefixLength() -> int', ({ length }) => BigInt(length)),
  cidrMethod('masked() -> net.CIDR', (cidr) => cidr.mask()),
  defineMethod('net.CIDR', 'containsIP(net.IP) -> bool', containsIp),
  defineMethod(
    'net.CIDR',
    'containsIP(string) -> bool',
    withCost(steps, (cidr: Cidr, text: string) => containsIp(cidr, parseIp(text))),
  ),
  defineMethod('net.CIDR', 'containsCIDR(net.CIDR) -> bool', containsCidr),
  defineMethod(
    'net.CIDR',
    'containsCIDR(string) -> bool',
    withCost(steps, (cidr: Cidr, text: string) => containsCidr(cidr, parseCidr(text))),
  ),
];

function ipMethod(signature: string, run: (ip: Ip) => Value): Overload {
  return defineMethod('net.IP', signature, run);
}

function cidrMethod(signature: string, run: (cidr: Cidr) => Value): Overload {
  return defineMethod('net.CIDR', signature, run);
}

function isWithinAny(ip: Ip, networks: readonly Cidr[]): boolean {
  return networks.some(({ address, length }) => ip.isWithin(address, length));
}

const loopback = ['127.0.0.0/8', '::1/128'].map(parseCidr);
const multicast = ['224.0.0.0/4', 'ff00::/8'].map(parseCidr);
const linkLocal = ['169.254.0.0/16', 'fe80::/10'].map(parseCidr);

function isLoopback(ip: Ip): boolean {
  return isWithinAny(ip, loopback);
}

function isMulticast(ip: Ip): boolean {
  return isWithinAny(ip, multicast);
}

function isLinkLocalUnicast(ip: Ip): boolean {
  return isWithinAny(ip, linkLocal);
}

/** In IPv6 the scope stands in four bits behind four flags, which can be anything. */
function isLinkLocalMulticast(ip: Ip): boolean {
  if (ip.bits === 32) return ip.isWithin(new Ip(32, 0xe0000000n), 24);
  return isMulticast(ip) && ((ip.value >> 112n) & 0xfn) === 2n;
}

function containsIp({ address, length }: Cidr, ip: Ip): boolean {
  return ip.isWithin(address, length);
}

function containsCidr({ address, length }: Cidr, part: Cidr): boolean {
  return length <= part.length && part.address.isWithin(address, length);
}
