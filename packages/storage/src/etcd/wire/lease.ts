import { decodeMessage, encodeMessage, readInt64, writeInt64 } from '../../protobuf/fields.ts';
import type { Rpc } from './rpc.ts';

export interface LeaseGrant {
  /** Chosen by the client: etcd would choose from 63 bits, more than a double holds exactly. */
  readonly id: number;
  readonly seconds: number;
}

export const grantLease: Rpc<LeaseGrant, void> = {
  path: '/etcdserverpb.Lease/LeaseGrant',
  encode: ({ id, seconds }) =>
    encodeMessage((to) => {
      writeInt64(to, 1, seconds);
      writeInt64(to, 2, id);
    }),
  decode: () => undefined,
};

/** Ends a lease and deletes every key attached to it. */
export const revokeLease: Rpc<number, void> = {
  path: '/etcdserverpb.Lease/LeaseRevoke',
  encode: (id) => encodeMessage((to) => writeInt64(to, 1, id)),
  decode: () => undefined,
};

/**
 * Returns the seconds that the lease still lives; 0 if there is no such lease. The method is a bidirectional stream, and a
 * stream of one request and one response looks like a unary call.
 */
export const keepLeaseAlive: Rpc<number, number> = {
  path: '/etcdserverpb.Lease/LeaseKeepAlive',
  encode: (id) => encodeMessage((to) => writeInt64(to, 1, id)),
  decode: (message) => {
    let seconds = 0;
    decodeMessage(message, (field, reader) => {
      if (field !== 3) return false;
      seconds = readInt64(reader);
      return true;
    });
    return seconds;
  },
};
