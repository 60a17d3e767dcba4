import { integer, path, text } from '../flag.ts';

/** Flags of the listener. */
export const servingFlags = {
  'bind-address': text({ fallback: '0.0.0.0', help: 'The address to listen on.' }, 'ip'),
  'secure-port': integer({ fallback: '6443', help: 'The port for HTTPS; 0 lets the system choose.' }, [0, 65_535]),
  'http2-max-streams-per-connection': integer(
    {
      fallback: '0',
      help: 'Requests that a client may have open on one HTTP/2 connection; 0 for 100.',
    },
    [0, 2 ** 31 - 1],
  ),
  'max-connections-per-peer': integer(
    {
      fallback: '0',
      help: 'Maximum number of connections that one client address may have open; 0 is no limit. Clients behind one load balancer or NAT share an address.',
    },
    [0, 20_000],
  ),
  'cert-dir': path({
    fallback: 'certificates',
    help: 'Where a self-signed certificate is kept when none is given.',
  }),
  'tls-cert-file': path({
    fallback: '',
    help: 'Certificate chain to serve with. It is read again when the file changes.',
  }),
  'tls-private-key-file': path({ fallback: '', help: 'Key of --tls-cert-file.' }),
};
