import type { Random } from '@cluster-apiserver/base';
import type { Handler } from '../exchange.ts';
import type { AuditIdContext, ReceivedContext } from '../request-context.ts';

/** A longer one, or one with other characters, is somebody's mistake or worse; it gets a name of ours instead. */
const auditIdForm = /^[A-Za-z0-9._:-]{1,64}$/;

/** Every request has a name that its answer, its log lines and its traces carry; a client may bring its own. */
export const assignAuditId =
  (random: Random) =>
  (next: Handler<AuditIdContext>): Handler<ReceivedContext> =>
  (context) => {
    const given = context.request.header('audit-id');
    return next(
      Object.assign(context, { auditId: given !== undefined && auditIdForm.test(given) ? given : random.uuid() }),
    );
  };
