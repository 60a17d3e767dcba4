import { integer, ip, path } from '../flags/flag.ts';

/** Flags of the listener. */
export const servingFlags = {
  'bind-address': ip({ default: '0.0.0.0', help: 'IP address to listen on.' }),
  'secure-port': integer({ default: '6443', help: 'Port to serve HTTPS on; 0 lets the system choose.' }, [0, 65_535]),
  'http2-max-streams-per-connection': integer(
    {
      default: '0',
      help: 'Maximum number of concurrent streams per HTTP/2 connection; 0 means 100.',
    },
    [0, 2 ** 31 - 1],
  ),
  'max-connections-per-peer': integer(
    {
      default: '0',
      help: 'Maximum number of open connections per client address; 0 for no limit. Clients behind the same load balancer or NAT share an address.',
    },
    [0, 20_000],
  ),
  'cert-dir': path({
    default: 'certificates',
    help: 'Directory of the self-signed certificate that is generated if --tls-cert-file is not set.',
  }),
  'tls-cert-file': path({
    default: '',
    help: 'Serving certificate with its chain, in PEM. Reloaded when it changes.',
  }),
  'tls-private-key-file': path({ default: '', help: 'Private key of --tls-cert-file.' }),
};
