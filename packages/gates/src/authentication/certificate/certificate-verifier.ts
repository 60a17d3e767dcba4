import type { Clock } from '@cluster-apiserver/base';
import {
  type Authorities,
  UntrustedCertificateError,
  type VerifiedCertificate,
  verifyClient,
} from '@cluster-apiserver/certificates';

/** Time to cache a failed verification: the certificate may become valid. */
const distrustMs = 10_000;

type Verification = { readonly verified: VerifiedCertificate } | { readonly untrusted: UntrustedCertificateError };

/**
 * Verifies the certificates of a connection once per set of CAs and caches the result for its further requests. The chain
 * object is the cache key, so it must be the same for all requests of a connection.
 */
export function createCertificateVerifier(
  authorities: () => Authorities,
  clock: Clock,
): (chain: readonly Buffer[]) => Verification {
  const known = new WeakMap<
    readonly Buffer[],
    { readonly by: Authorities; readonly answer: Verification; readonly untilMs: number }
  >();
  return (chain) => {
    const [by, nowMs] = [authorities(), clock.now()];
    const found = known.get(chain);
    if (found && found.by === by && nowMs <= found.untilMs) return found.answer;
    const answer = verify(chain, by, nowMs);
    const untilMs = 'verified' in answer ? answer.verified.validUntilMs : nowMs + distrustMs;
    known.set(chain, { by, answer, untilMs });
    return answer;
  };
}

function verify(chain: readonly Buffer[], authorities: Authorities, nowMs: number): Verification {
  try {
    return { verified: verifyClient(chain, authorities, nowMs) };
  } catch (error) {
    if (error instanceof UntrustedCertificateError) return { untrusted: error };
    throw error;
  }
}
