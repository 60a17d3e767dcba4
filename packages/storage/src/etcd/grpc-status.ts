/** Reads the outcome of a gRPC call from HTTP/2 headers and trailers. */
import { decodeStatusMessage } from './grpc-frames.ts';
import { EtcdFault } from './transport.ts';

const okCode = 0;
export const unknownCode = 2;
export const unavailableCode = 14;

/** The reason of a fault without a response, which follows the endpoint. */
export const connectionLost = 'lost its connection';

/** Undefined for status OK. */
export function refusalOf(headers: ReadonlyMap<string, string>): EtcdFault | undefined {
  const code = Number(headers.get('grpc-status'));
  if (code === okCode) return undefined;
  return new EtcdFault('refused', code, decodeStatusMessage(headers.get('grpc-message') ?? ''));
}

/** The problem if a proxy in front of the member responded instead; undefined for a regular response. */
export function httpProblemOf(headers: ReadonlyMap<string, string>): string | undefined {
  const status = headers.get(':status');
  return status === undefined || status === '200' || status.startsWith('1')
    ? undefined
    : `answered HTTP status ${status}`;
}
