import { decodeMessage, encodeMessage, readNested, readFields } from '../../protobuf/fields.ts';
import { type ClusterId, type Rpc, readClusterId, readMemberId } from './rpc.ts';

export interface MemberStatus {
  /** Such as 3.5.16. */
  readonly version: string;
  readonly isLeader: boolean;
  readonly clusterId: ClusterId;
  /** The cluster refuses data until an operator has freed space and disarmed the alarm. */
  readonly outOfSpace: boolean;
  /** The size of the database file, including its free pages. */
  readonly databaseBytes: number;
}

/** The status of one member. It responds without a leader and without a quorum. */
export const memberStatus: Rpc<void, MemberStatus> = {
  path: '/etcdserverpb.Maintenance/Status',
  encode: () => encodeMessage(() => {}),
  decode: (message) => {
    let version = '';
    let clusterId = 0;
    let member = '';
    let leader = '';
    let outOfSpace = false;
    let databaseBytes = 0;
    decodeMessage(message, (field, reader) => {
      if (field === 1) {
        readNested(reader, (_, end) =>
          readFields(reader, end, (headerField) => {
            if (headerField === 1) clusterId = readClusterId(reader);
            else if (headerField === 2) member = readMemberId(reader);
            else return false;
            return true;
          }),
        );
      } else if (field === 2) version = reader.string();
      else if (field === 3) databaseBytes = Number(reader.int64());
      else if (field === 4) leader = readMemberId(reader);
      else if (field === 8) outOfSpace ||= reader.string().includes(spaceAlarm);
      else return false;
      return true;
    });
    return { version, isLeader: leader === member, clusterId, outOfSpace, databaseBytes };
  },
};

/** How the alarm appears in the errors of a status. */
const spaceAlarm = 'alarm:NOSPACE';
