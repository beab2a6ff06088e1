/** Counters of one session. Plain numbers, only ever growing. */
export class SessionStats {
  framesSent = 0;
  framesReceived = 0;
  pingsSent = 0;
  pongsSent = 0;
  /** Answers that matched a waiting ping. */
  pongsMatched = 0;
  /** Answers late, repeated or to nothing of ours: still life, never fatal. */
  pongsUnmatched = 0;
  duplicates = 0;
  stale = 0;
  candidates = 0;
  /** Duty frames that could not go out when due, because the socket was not draining or a host frame was open. */
  skipped = 0;
  /** Duty frames that left more than two ticks after they were due, a blocked socket included. */
  beatsLate = 0;
  /** Answers replaced by a newer one while the outbound side was blocked. */
  pongsCoalesced = 0;
  /** Suspect probes left out because the process's budget was used up. */
  probesSkipped = 0;
  suspicions = 0;
  /** Times a naive judge would have declared the peer dead, and it was not: read first, or a grace of ours. */
  killsAverted = 0;
  /** Verdicts put off because this process had not been running. */
  graces = 0;
}
