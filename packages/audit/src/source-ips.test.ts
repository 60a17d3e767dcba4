import { expect, test } from '@jest/globals';
import { findSourceIps } from './source-ips.ts';

test.each<[string, Readonly<Record<string, string>>, string, string[]]>([
  ['the peer', {}, '10.0.0.1', ['10.0.0.1']],
  ['an IPv4 address on a socket for both families', {}, '::ffff:10.0.0.1', ['10.0.0.1']],
  ['an IPv6 address', {}, '2001:db8::1', ['2001:db8::1']],
  ['proxies', { 'x-forwarded-for': '1.1.1.1, 2.2.2.2' }, '10.0.0.1', ['1.1.1.1', '2.2.2.2', '10.0.0.1']],
  ['the last proxy once', { 'x-forwarded-for': '1.1.1.1,10.0.0.1' }, '10.0.0.1', ['1.1.1.1', '10.0.0.1']],
  ['no text that is no address', { 'x-forwarded-for': 'a,,1.1.1.1;' }, '10.0.0.1', ['10.0.0.1']],
  ['the real address', { 'x-real-ip': '1.1.1.1' }, '10.0.0.1', ['1.1.1.1', '10.0.0.1']],
  [
    'the real address once',
    { 'x-forwarded-for': '1.1.1.1, 2.2.2.2', 'x-real-ip': '1.1.1.1' },
    '3.3.3.3',
    ['1.1.1.1', '2.2.2.2', '3.3.3.3'],
  ],
  ['nothing for a socket without an address', {}, '', []],
])('the source addresses have %s', (_, headers, remoteAddress, expected) => {
  expect(findSourceIps({ remoteAddress, header: (name) => headers[name] })).toEqual(expected);
});
