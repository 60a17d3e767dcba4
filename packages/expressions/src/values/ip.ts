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

  mask(): Cidr {
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
  const [address = '', length = '', ...more] = text.split('/', 3);
  const ip = readIp(address);
  if (!ip || more.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(length) || Number(length) > ip.bits)
    throw new EvaluationError('not an address range such as 10.0.0.0/8');
  return new Cidr(ip, Number(length));
}

/** The longest form, with the last 32 bits as an IPv4 address. */
const addressLengthMax = '0000:0000:0000:0000:0000:0000:255.255.255.255'.length;

/** Undefined for what is no address. Zones and IPv4 mapped into IPv6 are refused: they make one address of two. */
function readIp(text: string): Ip | undefined {
  if (text.length > addressLengthMax) return undefined;
  const four = readIpv4(text);
  if (four !== undefined) return new Ip(32, four);
  const six = readIpv6(text);
  return six === undefined || six >> 32n === 0xffffn ? undefined : new Ip(128, six);
}

function readIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  const isAddress = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
  return isAddress ? numberOf(parts.map(Number), 8) : undefined;
}

/** Eight groups, of which `::` leaves out one or more; the last two may be written as an IPv4 address. */
export function readIpv6(text: string): bigint | undefined {
  const [, start = '', dotted] = /^(.*:)([\d.]+\.[\d.]+)$/.exec(text) ?? [];
  const four = dotted === undefined ? 0n : readIpv4(dotted);
  if (four === undefined) return undefined;
  const whole = dotted === undefined ? text : `${start}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
  const halves = whole.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const groups = halves.flat();
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  if (halves.length === 1 ? groups.length !== 8 : halves.length > 2 || groups.length > 7) return undefined;
  const zeros = Array.from({ length: 8 - groups.length }, () => '0');
  const all = [...(halves[0] ?? []), ...zeros, ...(halves[1] ?? [])];
  return numberOf(
    all.map((group) => Number.parseInt(group, 16)),
    16,
  );
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
