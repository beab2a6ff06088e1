/*
 * Who switches when (spec/HB1.md, section 6) for an exhaustive search: two sides that beat as late as their interval
 * allows, change their wishes at any time, also crossing, and accept or refuse what the other asks. Time is in whole
 * ticks; each path has a constant delay of 1 to DELAY ticks, chosen at the start, and nothing overtakes. So a gap
 * between sends is a gap between receipts, and detection can be as tight as it gets: with a multiplier of 1 a single
 * tick too much is a false death.
 *
 * The search begins with agreed values, all of them. More is allowed here than section 6 allows: a refusal needs no
 * reason, and a POLL may follow a FINAL at once. A side waits for its answer as long as it takes; what may happen when
 * it does not is MUTANT_GIVES_UP_TOO_SOON.
 *
 * -DMUTANT_x      a planted mistake, which the search has to find
 */
#ifndef DELAY
#define DELAY 2
#endif
#define FAST 1
#ifndef SLOW
#define SLOW 3
#endif
/* Shorter than the longest round trip. */
#define TOO_SOON 2

mtype:answer = { none, final, refuse };

typedef Rates {
  byte tx;                /* DESIRED_MIN_TX */
  byte rx;                /* REQUIRED_MIN_RX */
  byte multiplier         /* DETECT_MULT */
};

/* What one side sends in one tick, in this order. */
typedef Frames {
  bit isAny;
  mtype:answer answer;
  byte answerToken;
  bit hasPoll;            /* words 1, 2, 3 and POLL */
  byte token;
  Rates asked
};

typedef Path {
  Frames sent[DELAY + 1]; /* by age */
  byte delay
};

typedef Side {
  Rates mine;             /* as agreed */
  Rates wish;             /* as polled */
  Rates peer;             /* as the peer's last POLL that was not refused said */
  bit isOutstanding;
  byte token;
  byte waitedTicks;
  byte quietTicks;        /* since the last frame sent */
  byte silentTicks        /* since the last frame heard */
};

Side side[2];
/* Towards side 0 and towards side 1. */
Path path[2];

/* Choices of a round. */
bit polls[2];
bit refuses[2];
Rates choice[2];
byte age;

#define min(a, b) ((a) < (b) -> (a) : (b))
#define max(a, b) ((a) > (b) -> (a) : (b))
#define outstandingOr(p, wished, otherwise) (side[p].isOutstanding -> side[p].wish.wished : (otherwise))

/* Faster at POLL, slower at FINAL. */
#ifdef MUTANT_SENDER_SLOWS_AT_POLL
#define myTx(p) outstandingOr(p, tx, side[p].mine.tx)
#else
#ifdef MUTANT_SENDER_SPEEDS_UP_AT_FINAL
#define myTx(p) side[p].mine.tx
#else
#define myTx(p) min(side[p].mine.tx, outstandingOr(p, tx, side[p].mine.tx))
#endif
#endif

/* More patient at POLL, less at FINAL. */
#ifdef MUTANT_RECEIVER_SHORTENS_AT_POLL
#define myRx(p) outstandingOr(p, rx, side[p].mine.rx)
#else
#define myRx(p) max(side[p].mine.rx, outstandingOr(p, rx, side[p].mine.rx))
#endif

#define txInterval(p) max(myTx(p), side[p].peer.rx)
#define rxInterval(p) max(myRx(p), side[p].peer.tx)
#define deadTicks(p) (side[p].peer.multiplier * rxInterval(p))

inline copy(from, to) {
  to.tx = from.tx; to.rx = from.rx; to.multiplier = from.multiplier
}

#define same(a, b) (a.tx == b.tx && a.rx == b.rx && a.multiplier == b.multiplier)
#define blank(rates) rates.tx = 0; rates.rx = 0; rates.multiplier = 0

/* `hops`: how many frames led to this one. Only a POLL is answered, and never an answer. */
inline answerWith(p, word, itsToken, hops) {
  assert(hops <= 1);
  path[1 - p].sent[0].answer = word;
  path[1 - p].sent[0].answerToken = itsToken;
  path[1 - p].sent[0].isAny = 1;
  side[p].quietTicks = 0
}

inline settle(p) {
  side[p].isOutstanding = 0;
  side[p].waitedTicks = 0;
#ifndef MUTANT_GIVES_UP_TOO_SOON
  blank(side[p].wish)
#endif
}

#define heard path[p].sent[path[p].delay]

/* An answer to the newest POLL; a FINAL that comes late still counts. */
inline hearAnswer(p) {
  if
  :: heard.answer != none && heard.answerToken == side[p].token ->
#ifdef MUTANT_GIVES_UP_TOO_SOON
    if
    :: heard.answer == final -> copy(side[p].wish, side[p].mine)
    :: else
    fi;
#else
    assert(side[p].isOutstanding);
    if
    :: heard.answer == final -> copy(side[p].wish, side[p].mine)
    :: else
    fi;
#endif
#ifdef MUTANT_ANSWERS_A_FINAL
    answerWith(p, final, heard.answerToken, 2);
#endif
    settle(p)
  :: else
  fi
}

inline hearPoll(p) {
  if
  :: heard.hasPoll && refuses[p] ->
#ifdef MUTANT_APPLIES_WHAT_IT_REFUSES
    copy(heard.asked, side[p].peer);
#endif
    answerWith(p, refuse, heard.token, 1)
  :: heard.hasPoll && !refuses[p] ->
    copy(heard.asked, side[p].peer);
    answerWith(p, final, heard.token, 1)
  :: else
  fi
}

inline clear(frames) {
  frames.isAny = 0;
  frames.answer = none;
  frames.answerToken = 0;
  frames.hasPoll = 0;
  frames.token = 0;
  blank(frames.asked)
}

inline hear(p) {
  if
  :: heard.isAny ->
    side[p].silentTicks = 0;
    hearAnswer(p);
    hearPoll(p);
    clear(heard)
  :: else ->
    /* Both live and no path is broken, so nobody's silence may ever reach the limit. */
    assert(side[p].silentTicks < deadTicks(p))
  fi
}

inline say(p) {
  if
  :: polls[p] ->
    copy(choice[p], side[p].wish);
    copy(choice[p], path[1 - p].sent[0].asked);
    side[p].isOutstanding = 1;
#ifdef MUTANT_GIVES_UP_TOO_SOON
    side[p].token = (side[p].token + 1) % 4;
#endif
    path[1 - p].sent[0].hasPoll = 1;
    path[1 - p].sent[0].token = side[p].token;
    path[1 - p].sent[0].isAny = 1;
    side[p].quietTicks = 0
  :: else
  fi;
  if
  :: side[p].quietTicks >= txInterval(p) -> path[1 - p].sent[0].isAny = 1; side[p].quietTicks = 0
  :: else
  fi
}

inline tickOf(p) {
  side[p].quietTicks++;
  side[p].silentTicks++;
#ifdef MUTANT_GIVES_UP_TOO_SOON
  if
  :: side[p].isOutstanding -> side[p].waitedTicks++
  :: else
  fi;
  if
  :: side[p].waitedTicks > TOO_SOON -> settle(p)
  :: else
  fi;
#else
  /* Where nothing is outstanding both ends know the same. */
  assert(side[p].isOutstanding || same(side[p].mine, side[1 - p].peer));
#endif
  age = path[p].delay;
  do
  :: age > 0 ->
    path[p].sent[age].isAny = path[p].sent[age - 1].isAny;
    path[p].sent[age].answer = path[p].sent[age - 1].answer;
    path[p].sent[age].answerToken = path[p].sent[age - 1].answerToken;
    path[p].sent[age].hasPoll = path[p].sent[age - 1].hasPoll;
    path[p].sent[age].token = path[p].sent[age - 1].token;
    copy(path[p].sent[age - 1].asked, path[p].sent[age].asked);
    age--
  :: else -> break
  od;
  clear(path[p].sent[0]);
  polls[p] = 0;
  refuses[p] = 0;
  blank(choice[p])
}

inline chooseRates(rates) {
  if
  :: rates.tx = FAST
  :: rates.tx = SLOW
  fi;
  if
  :: rates.rx = FAST
  :: rates.rx = SLOW
  fi;
  if
  :: rates.multiplier = 1
  :: rates.multiplier = 2
  fi
}

inline choose(p) {
  if
#ifdef MUTANT_GIVES_UP_TOO_SOON
  :: p == 0 && !side[p].isOutstanding -> polls[p] = 1; chooseRates(choice[p])
#else
  :: !side[p].isOutstanding -> polls[p] = 1; chooseRates(choice[p])
#endif
  :: true
  fi;
  if
  :: heard.hasPoll -> refuses[p] = 1
  :: true
  fi
}

inline begin(p) {
  chooseRates(side[p].mine);
  copy(side[p].mine, side[1 - p].peer);
  select(age : 1 .. DELAY);
  path[p].delay = age;
  /* As if a frame had been sent in every tick so far. */
  age = 0;
  do
  :: age <= DELAY ->
    path[p].sent[age].answer = none;
    path[p].sent[age].isAny = (age > 0 && age <= path[p].delay);
    age++
  :: else -> age = 0; break
  od;
  side[p].quietTicks = 1
}

active proctype world() {
  atomic { begin(0); begin(1) }
  do
  :: atomic {
    choose(0);
    choose(1);
    d_step {
      hear(0); hear(1);
      say(0); say(1);
      tickOf(0); tickOf(1)
    }
  }
  od
}
