import { isIPv4, isIPv6 } from 'node:net';
import { EvaluationError, Opaque } from './value.ts';

/** An IP address as a number of 32 or 128 bits. */
export class Ip extends Opaque {
  override readonly typeName = 'net.IP';
  readonly bits: 32 | 128;
  readonly value: bigint;

  constructor(bits: 32 | 128, value: bigint) {
    super();
    this.bits = bits;
    this.value = value;
  }

  override equals(other: Opaque): boolean {
    return other instanceof Ip && other.bits === this.bits && other.value === this.value;
  }

  /** Whether the address is in the network of the first `length` bits of another. */
  isWithin(network: Ip, length: number): boolean {
    const rest = BigInt(network.bits - length);
    return this.bits === network.bits && this.value >> rest === network.value >> rest;
  }

  /** In the canonical form of RFC 5952. */
  override toString(): string {
    return this.bits === 32 ? Array.from(bytesOf(this.value)).join('.') : formatGroups(groupsOf(this.value));
  }
}

/** An address with the length of its network's prefix: `10.1.2.3/8`. */
export class Cidr extends Opaque {
  override readonly typeName = 'net.CIDR';
  readonly address: Ip;
  readonly length: number;

  constructor(address: Ip, length: number) {
    super();
    this.address = address;
    this.length = length;
  }

  override equals(other: Opaque): boolean {
    return other instanceof Cidr && other.length === this.length && other.address.equals(this.address);
  }

  masked(): Cidr {
    const { bits, value } = this.address;
    const rest = BigInt(bits - this.length);
    return new Cidr(new Ip(bits, (value >> rest) << rest), this.length);
  }

  override toString(): string {
    return `${this.address.toString()}/${this.length}`;
  }
}

export function parseIp(text: string): Ip {
  const address = readIp(text);
  if (!address) throw new EvaluationError('not an IP address, or one with a zone or mapped from IPv4');
  return address;
}

export function parseCidr(text: string): Cidr {
  const [address, length = '', ...more] = text.split('/', 3);
  const ip = readIp(address as string);
  if (!ip || more.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(length) || Number(length) > ip.bits)
    throw new EvaluationError('not an address range such as 10.0.0.0/8');
  return new Cidr(ip, Number(length));
}

/** Undefined for what is no address. Zones and IPv4 mapped into IPv6 are refused: they make one address of two. */
function readIp(text: string): Ip | undefined {
  if (isIPv4(text)) return new Ip(32, numberOf(text.split('.').map(Number), 8));
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const [, start = '', dotted] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text) ?? [];
  const last = dotted === undefined ? '' : numberOf(dotted.split('.').map(Number), 8).toString(16).padStart(8, '0');
  const plain = dotted === undefined ? text : `${start}${last.slice(0, 4)}:${last.slice(4)}`;
  const [front, back] = plain.split('::', 2).map((half) => half.split(':').filter((group) => group !== ''));
  const known = [...(front ?? []), ...(back ?? [])];
  const zeros = Array.from({ length: 8 - known.length }, () => '0');
  const groups = [...(front ?? []), ...zeros, ...(back ?? [])].map((group) => Number.parseInt(group, 16));
  const value = numberOf(groups, 16);
  return value >> 32n === 0xffffn ? undefined : new Ip(128, value);
}

const numberOf = (parts: readonly number[], bits: number): bigint =>
  parts.reduce((sum, part) => (sum << BigInt(bits)) | BigInt(part), 0n);

const bytesOf = (value: bigint): number[] => [24n, 16n, 8n, 0n].map((shift) => Number((value >> shift) & 0xffn));

const groupsOf = (value: bigint): string[] =>
  Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));

/** The longest run of two zeros or more, the first of several, becomes `::`. */
function formatGroups(groups: readonly string[]): string {
  let [from, to] = [0, 0];
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (groups[end] === '0') end++;
    if (end - start > Math.max(to - from, 1)) [from, to] = [start, end];
  }
  return to === 0 ? groups.join(':') : `${groups.slice(0, from).join(':')}::${groups.slice(to).join(':')}`;
}
