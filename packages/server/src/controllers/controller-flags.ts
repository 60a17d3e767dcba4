import { controllers } from '@cluster-apiserver/controllers';
import { durationMs, list, path } from '../flags/flag.ts';

/** Requests ask for ten minutes at least. */
const signingDurationMs = [600_000, Number.POSITIVE_INFINITY] as const;

export const controllerFlags = {
  controllers: list(
    `Controllers to run: * for all, name for one, -name for all but one. There are ${Object.keys(controllers).join(', ')}.`,
    '*',
  ),
  'root-ca-file': path(
    'Certificates in PEM with which clients verify this server; published in each namespace and in token Secrets. Defaults to the root of the serving certificate if that contains it.',
  ),
  'cluster-signing-cert-file': path(
    'Certificate in PEM of the authority that signs approved CertificateSigningRequests of the signer kubernetes.io/kube-apiserver-client. Without it the server signs none.',
  ),
  'cluster-signing-key-file': path('Private key in PEM of that authority.'),
  'cluster-signing-duration': durationMs(
    'Longest validity of signed certificates. A request can ask for less by spec.expirationSeconds.',
    '8760h0m0s',
    signingDurationMs,
  ),
};
