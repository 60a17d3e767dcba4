import { credentialIdKey } from '../credential-id.ts';
import type { Clock } from '@cluster-apiserver/base';
import type { Authorities, VerifiedCertificate } from '@cluster-apiserver/certificates';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Authenticator } from '../authenticator.ts';
import { addAuthenticatedGroup } from '../user-groups.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import { createCertificateVerifier } from './certificate-verifier.ts';

/** The subject attribute that Kubernetes uses for the UID. */
const uidPart = '1.3.6.1.4.1.57683.2';

/**
 * Authenticates by client certificate: the common name is the user, organizations are the groups. A certificate of another
 * CA is rejected, but another authenticator may accept another credential of the request. `observeRemaining` receives the
 * remaining lifetime of the certificate for each request.
 */
export function createClientCertificateAuthenticator(
  authorities: () => Authorities,
  clock: Clock,
  metrics: Metrics,
): Authenticator {
  const observeRemaining = metrics
    .histogram({
      name: 'apiserver_client_certificate_expiration_seconds',
      help: 'Distribution of the remaining lifetime on the certificate used to authenticate a request.',
      buckets: remainingBuckets,
    })
    .series({});
  const verify = createCertificateVerifier(authorities, clock);
  const users = new WeakMap<VerifiedCertificate, UserInfo>();
  return {
    authenticate: ({ clientCertificates: chain }) => {
      if (chain.length === 0) return undefined;
      const answer = verify(chain);
      if ('untrusted' in answer)
        throw new TokenRejectedError('the client certificate is not trusted', { cause: answer.untrusted });
      const { verified } = answer;
      observeRemaining((verified.validUntilMs - clock.now()) / 1000);
      let user = users.get(verified);
      if (!user) users.set(verified, (user = userOf(verified)));
      return user;
    },
  };
}

/** Buckets of kube-apiserver: from an expired certificate to a year, in seconds. */
const remainingBuckets = [
  0, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000, 15_552_000,
  31_104_000,
];

function userOf(certificate: VerifiedCertificate): UserInfo {
  const name = certificate.subject('CN').at(-1) ?? '';
  if (name === '') throw new TokenRejectedError('the client certificate has no common name');
  const uids = certificate.subject(uidPart);
  if (uids.length > 1 || uids[0] === '') throw new TokenRejectedError('the client certificate has no clear uid');
  const [uid] = uids;
  return addAuthenticatedGroup({
    name,
    ...(uid !== undefined && { uid }),
    groups: [...new Set(certificate.subject('O'))],
    extra: { [credentialIdKey]: [`X509SHA256=${certificate.fingerprint}`] },
  });
}
