import type { Random } from '@cluster-apiserver/base';
import type { Handler } from '../exchange.ts';
import type { AuditIdContext, ReceivedContext } from '../request-context.ts';

/** Other audit IDs of clients are replaced. */
const auditIdForm = /^[A-Za-z0-9._:-]{1,64}$/;

/** Assigns the audit ID, which responses, logs and traces carry. Clients may send their own. */
export const assignAuditId =
  (random: Random) =>
  (next: Handler<AuditIdContext>): Handler<ReceivedContext> =>
  (context) => {
    const clientAuditId = context.request.header('audit-id');
    return next(
      Object.assign(context, {
        auditId: clientAuditId !== undefined && auditIdForm.test(clientAuditId) ? clientAuditId : random.uuid(),
      }),
    );
  };
