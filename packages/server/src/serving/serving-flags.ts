import { integer, ip, path } from '../flags/flag.ts';

/** Flags of the listener. */
export const servingFlags = {
  'bind-address': ip('IP address to listen on.', '0.0.0.0'),
  'secure-port': integer('Port to serve HTTPS on; 0 lets the system choose.', '6443', [0, 65_535]),
  'http2-max-streams-per-connection': integer(
    'Maximum number of concurrent streams per HTTP/2 connection; 0 means 100.',
    '0',
    [0, 2 ** 31 - 1],
  ),
  'max-connections-per-peer': integer(
    'Maximum number of open connections per client address; 0 for no limit. Clients behind the same load balancer or NAT share an address.',
    '0',
    [0, 20_000],
  ),
  'cert-dir': path(
    'Directory of the self-signed certificate that is generated if --tls-cert-file is not set.',
    'certificates',
  ),
  'tls-cert-file': path('Serving certificate with its chain, in PEM. Reloaded when it changes.'),
  'tls-private-key-file': path('Private key of --tls-cert-file.'),
};
