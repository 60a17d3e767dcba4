import type { Clock } from '@cluster-apiserver/base';
import {
  type Authorities,
  UntrustedCertificateError,
  type Verified,
  verifyClient,
} from '@cluster-apiserver/certificates';

/** How long a chain that was not believed stays so without another look: it may be one that is not valid yet. */
const distrustMs = 10_000;

type Verification = { readonly verified: Verified } | { readonly untrusted: UntrustedCertificateError };

/**
 * Verifies the certificates of connections, once for each and for each set of authorities: most requests find what was
 * found for the one before. A chain stands for its connection, so it must be the same object each time.
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
