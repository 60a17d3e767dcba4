/** Limits of what clients can make this process hold and do. They apply before authentication. */

/**
 * Request line and headers together. Tokens of identity providers reach 32 KiB and selectors some more. A megabyte, as
 * other servers allow, would let ten thousand connections hold ten gigabytes.
 */
export const headBytesMax = 64 * 1024;

/** Header lines. Impersonation sends one line per group, so some hundred are legitimate. */
export const headerLinesMax = 1_000;

/** From the first byte of a request to the end of its headers, and for the TLS handshake. */
export const headTimeoutMs = 10_000;

/**
 * A connection without requests. Longer than the limit of load balancers and most clients, so that the client closes
 * first.
 */
export const idleTimeoutMs = 90_000;

/** The same while the server drains: the response to a connection in use closes it. */
export const idleWhileDrainingMs = 2_000;

/** A body may arrive at any rate for this long, and must then keep the rate below. */
export const bodyGraceMs = 10_000;

/** The minimum rate of a request body. Slower than any network in use, fast enough that 3 MiB do not take hours. */
export const bodyBytesPerSecondMin = 1_024;

/** A response of which the client has read nothing for this long is cut off. */
export const responseStallMs = 60_000;

/**
 * Written to the socket at once. Larger pieces block the event loop during encryption (27 MB at once: 45 ms; in such
 * pieces: 2 ms).
 */
export const pieceBytes = 256 * 1024;

/** The same until the client has read some: a client that never reads holds only this much per request. */
export const firstPieceBytes = 16 * 1024;

/** The minimum of both for an HTTP/2 client whose streams begin with a smaller window. It may never open it. */
export const smallestPieceBytes = 1024;

/** After this many response bytes a connection counts as one whose client reads. */
export const readingClientBytesMin = 64 * 1024;

/** Response bytes in memory per connection; further ones wait. 16 pieces of full size. */
export const connectionResponseBytesMax = 4 * 1024 * 1024;

/**
 * The same for the process: 32 connections whose clients stopped reading, or 8,000 requests whose clients never read.
 */
export const responseBytesMax = 128 * 1024 * 1024;

/**
 * While that memory is exhausted, a response that has not progressed for this long is cut off. Reading clients progress
 * each second.
 */
export const stallWhileFullMs = 2_000;

/**
 * Responses of several pieces that are written at a time; others begin after them. Their buffers of encrypted text stay in the
 * caches of the processor: with a thousand in turns, a list costs half as much again.
 */
export const longResponsesMax = 8;

/** A client that takes a piece later than this does not count as one of them while it is waited for. */
export const slowClientMs = 25;

/** Request bytes in memory per connection: ten bodies of the maximum size. */
export const connectionBodyBytesMax = 32 * 1024 * 1024;

/** The same for the process. */
export const bodyBytesMax = 128 * 1024 * 1024;

/**
 * The head of a response with so long a body is written separately: over TLS, Node.js copies buffers that are written together
 * into a new one, and glibc gets memory of this size from the kernel each time (docs/decisions/0055-memory.md).
 */
export const separateHeadBytesMin = 64 * 1024;

/** Number of piece buffers that are kept for reuse. */
export const freeBuffersMax = 32;

/**
 * An unread body up to this size is read and dropped to keep the connection; for larger ones, closing it is cheaper.
 */
export const drainedBodyBytesMax = 256 * 1024;

/** How long a refused body is read and dropped, so that the client sees the response and not a reset. */
export const lingerMs = 2_000;

/** Connections in that state; further ones are closed at once. */
export const lingeringMax = 1_000;

/**
 * Pipelined requests of one HTTP/1.1 connection. They are served one after the other, as by Go's server; known clients
 * send only one.
 */
export const pipelinedRequestsMax = 20;

/** No pong is queued behind more than this: a client that does not read could request any number. */
export const pongBacklogBytesMax = 64 * 1024;

/** Ten thousand watches and as many other clients; an idle TLS connection holds about 50 KB. */
export const connectionsMax = 20_000;

/** From this share of all connections, idle ones are closed sooner. */
export const crowdedShare = 0.8;

/** The idle timeout then, and after the system ran out of file descriptors. */
export const idleWhileCrowdedMs = 5_000;

/** For this long after running out of file descriptors, idle connections are closed sooner. */
export const descriptorShortageMs = 60_000;

/** TCP keep-alive: the kernel probes an idle connection after this, and closes it about ten seconds later. */
export const tcpKeepAliveMs = 30_000;

/** Interval of pings to HTTP/2 clients with open requests, whose watches may be idle for hours. */
export const pingIntervalMs = 30_000;

/** A ping may wait behind a large response on a slow network. */
export const pingTimeoutMs = 60_000;

/**
 * The same while the server drains, when each client is asked at once: one that has vanished must not delay the end. It
 * is shorter than the drain, after which Node's sessions send no more pings.
 */
export const pingTimeoutWhileDrainingMs = 7_000;

/**
 * Concurrent streams of one HTTP/2 connection, as in kube-apiserver. At the limit Go's clients open another connection.
 */
export const defaultStreamsMax = 100;

/** Memory of nghttp2 for one HTTP/2 connection, before it refuses new streams. */
export const sessionMegabytesMax = 32;

/**
 * Streams a client may reset at once, and then per second. A client that stops cancels all open streams. Resets that
 * arrive together are processed in one iteration of the event loop.
 */
export const streamResets = { burst: 125, perSecond: 33 };

/** Interval of the sweep, which checks these limits with one timer instead of several per request. */
export const sweepMs = 1_000;

/** What steps of connections cost later, in callbacks of Node, from one to two milliseconds of a handshake on. */
export const costsMs = {
  handshake: 1,
  /** A new connection may begin with all requests and resets that a client may send. */
  beginning: 1,
  /** A connection ends; so does each of its requests. */
  connectionEnd: 0.2,
  requestEnd: 0.05,
} as const;

/** What it costs to make and write a piece of a response: two milliseconds each MiB, and the overhead of each piece. */
export const pieceCost = { msPerByte: 2 / (1024 * 1024), overheadBytes: 32 * 1024 } as const;
