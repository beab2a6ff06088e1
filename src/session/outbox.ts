/**
 * Answers and notices that fell due while the outbound side was blocked (a host frame open, or the socket not
 * draining). Bounded by kind, whatever the peer sends: the newest PONG, one PROBE answer, one
 * parameter group and reply, one GOAWAY. A held frame
 * takes its sequence number only when it is really sent.
 */
export class Outbox {
  hasPong = false;
  pongSeq = 0;
  pongTimestamp = 0;
  probe: { readonly seq: number; readonly timestamp: number; readonly passed: boolean } | undefined;
  /** Parameter words waiting to be sent: at most one group, or the newest reply. */
  group: readonly number[] = [];
  replyWord = 0;
  /** GOAWAY_INFO word waiting to be sent; 0 = none. */
  goAwayWord = 0;

  holdPong(seq: number, timestamp: number): void {
    this.hasPong = true;
    this.pongSeq = seq;
    this.pongTimestamp = timestamp;
  }

  holdProbeAnswer(seq: number, timestamp: number, passed: boolean): void {
    this.probe = { seq, timestamp, passed };
  }
}
