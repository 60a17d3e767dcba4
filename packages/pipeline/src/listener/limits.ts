/** What one client may ask of this process before its first byte has been understood. */

/**
 * Request line and headers together. Tokens of identity providers reach 32 KiB and selectors some more; a megabyte, as
 * other servers allow, would let ten thousand connections hold ten gigabytes.
 */
export const headBytesMax = 64 * 1024;

/** Lines of headers. Impersonation sends one line per group, so some hundred are honest. */
export const headerLinesMax = 1_000;

/** From the first byte of a request to the end of its headers, and for the TLS handshake: honest clients send both at once. */
export const headTimeoutMs = 10_000;

/** A connection without a request. Longer than the front's and most clients' own limit, so the client is the one that closes. */
export const idleTimeoutMs = 90_000;

/** The same while the server drains or closes: a connection in use carries a request by then, and its answer closes it. */
export const idleWhileDrainingMs = 2_000;

/** A body may begin as late as this, and must then keep the rate below. */
export const bodyGraceMs = 10_000;

/** The slowest body we wait for. Slower than any line in use, fast enough that 3 MiB cannot last for hours. */
export const bodyBytesPerSecondMin = 1_024;

/** A ready answer whose next piece does not leave: the client stopped reading, and the bytes are ours until it does. */
export const responseStallMs = 60_000;

/** Written at once. Larger pieces block the event loop in the cipher (27 MB at once: 45 ms; in such pieces: 2 ms). */
export const pieceBytes = 256 * 1024;

/** The same until the client has taken some: one that never reads holds so much per request, and not 16 times as much. */
export const firstPieceBytes = 16 * 1024;

/** After so many bytes of responses have left on a connection, its client counts as one that reads. */
export const readingClientBytesMin = 64 * 1024;

/** Response bytes that one connection's requests hold in memory; the others wait. 16 pieces at full size. */
export const connectionResponseBytesMax = 4 * 1024 * 1024;

/** The same for the process: 32 connections that take nothing, or 8,000 requests that never took anything. */
export const responseBytesMax = 128 * 1024 * 1024;

/** While that memory is exhausted, a response that has not moved for so long is cut off. Honest readers move each second. */
export const stallWhileFullMs = 2_000;

/** Bodies of one connection's requests in memory: ten of the largest size. */
export const connectionBodyBytesMax = 32 * 1024 * 1024;

/** The same for the process. */
export const bodyBytesMax = 128 * 1024 * 1024;

/** How many pieces' memory is kept for the next ones. */
export const freeBuffersMax = 32;

/** A body nobody read is taken off the wire up to this size to keep the connection; above, closing it is cheaper. */
export const drainedBodyBytesMax = 256 * 1024;

/** How long a refused body is still thrown away, so that the client finds the answer and not a reset. */
export const lingerMs = 2_000;

/** Connections on which a refused body is thrown away at a time. Those beyond are closed at once. */
export const lingeringMax = 1_000;

/**
 * Requests a client may send on one HTTP/1.1 connection without waiting for answers. They are served one after the
 * other, as by Go's server; no client in use sends more than one.
 */
export const pipelinedRequestsMax = 20;

/** A pong behind more than this would be late anyway, and a client that reads nothing could ask for any number. */
export const pongBacklogBytesMax = 64 * 1024;

/** Ten thousand watches and as many other clients; each idle TLS connection holds about 50 KB. */
export const connectionsMax = 20_000;

/** From this share of all connections on, idle ones make place for others. */
export const crowdedShare = 0.8;

/** How long a connection may be idle then, and after the system had no descriptor left. */
export const idleWhileCrowdedMs = 5_000;

/** For so long after the system had no descriptor left the listener counts as crowded. */
export const descriptorShortageMs = 60_000;

/** A quiet connection is probed after so long by the kernel, and given up some ten seconds later if nobody is there. */
export const tcpKeepAliveMs = 30_000;

/** How often an HTTP/2 client with open requests is pinged: its watch may be quiet for hours. */
export const pingIntervalMs = 30_000;

/** A ping may wait behind a large answer on a slow line. */
export const pingTimeoutMs = 60_000;

/** Streams of one HTTP/2 connection, as in kube-apiserver. At the limit Go's clients open another connection. */
export const defaultStreamsMax = 100;

/** What one HTTP/2 connection may make the protocol library hold, in megabytes, before new streams are refused. */
export const sessionMegabytesMax = 32;

/**
 * Streams a client may reset at once and then per second. An honest client cancels all that it has open, attackers more.
 * Those that arrive together are worked on in one turn of the event loop.
 */
export const streamResets = { burst: 125, perSecond: 33 };

/** How often the limits above are looked at: one timer for all connections instead of several for each request. */
export const sweepMs = 1_000;

/** TLS handshakes that begin in one turn of the event loop. Each takes one or two milliseconds. */
export const handshakesPerTurn = 4;

/** Connections that are served from one turn of the event loop on: each may begin with all the requests and resets that it may send. */
export const connectionsPerTurn = 2;

/** Requests whose connections end in one turn of the event loop, at about 50 microseconds each. */
export const endingsPerTurn = 100;

/** Work of one turn of the event loop before others get theirs. */
export const turnMs = 5;
