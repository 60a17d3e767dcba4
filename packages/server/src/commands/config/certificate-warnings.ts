import { X509Certificate } from 'node:crypto';
import { splitCertificates, type FoundCertificates } from '@cluster-apiserver/config';

export interface Warning extends Omit<FoundCertificates, 'pem'> {
  readonly message: string;
}

/** Finds certificates that are expired, not valid yet, or about to expire. */
export function findCertificateWarnings(
  found: readonly FoundCertificates[],
  { nowMs, warnBeforeMs }: { readonly nowMs: number; readonly warnBeforeMs: number },
): readonly Warning[] {
  return found.flatMap(({ pem, ...place }) =>
    splitCertificates(pem).flatMap((text) => {
      const certificate = new X509Certificate(text);
      const [fromMs, toMs] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
      const name = `certificate ${JSON.stringify(certificate.subject.split('\n').join(', '))}`;
      const day = (ms: number): string => new Date(ms).toISOString();
      if (toMs <= nowMs) return [{ ...place, message: `${name} expired at ${day(toMs)}` }];
      if (fromMs > nowMs) return [{ ...place, message: `${name} is not valid before ${day(fromMs)}` }];
      if (toMs - nowMs < warnBeforeMs) return [{ ...place, message: `${name} expires at ${day(toMs)}` }];
      return [];
    }),
  );
}
