/*
 * Liveness of one connection (spec/HB1.md, section 5) for an exhaustive search: two sessions, one ordered path each
 * way, time in whole ticks. Every path through one round of time is tried: what arrives, who is late, which path falls
 * silent for good, who pauses, leaves, writes or ends.
 *
 * A path is a row of slots by age; a slot holds the set of frames sent in one tick. The receiver takes all slots
 * older than a point chosen anew in each round, so delays vary between 1 and DELAY ticks and nothing overtakes. What
 * has arrived but was not read yet (the process was not running, or reading was paused) waits in the inbox.
 *
 * Counters are ages, cut off where no rule tells them apart any more; that keeps the search finite.
 *
 * -DRESPONDER     peer 1 only answers
 * -DBUSY          host frames are written, and take over the duty to beat
 * -DSTALLS        peer 0 may not be running for a while: the process alone, or the machine with its network card
 * -DPAUSES        peer 0 may pause reading
 * -DENDS          both may leave (GOAWAY) or end
 * -DMUTANT_x      a planted mistake, which the search has to find
 */
#ifndef T
#define T 3
#endif
#ifndef M
#define M 2
#endif
#ifndef DELAY
#define DELAY 2
#endif

#define DEAD (M * T)
#if M > 2
#define SUSPECT ((M - 1) * T)
#else
#define SUSPECT ((3 * T + 1) / 2)
#endif
/* Half an interval beyond the longest round trip: what a pause of the machine too short for a grace can cost. */
#define RTO (2 * DELAY + T / 2)
#define GRACE T
#define MAX_GRACES 2
#if DEAD > T + RTO
#define DETECTION DEAD
#else
#define DETECTION (T + RTO)
#endif

/* What a verdict waits for after the question. */
#ifdef MUTANT_ONE_INTERVAL_FOR_THE_ANSWER
#define ANSWER_WITHIN T
#else
#define ANSWER_WITHIN RTO
#endif

#define NOTHING 0
#define BEAT 1
#define PING 2
#define PONG 4
#define GOAWAY 8
#define FIN 16

mtype:state = { opening, up, suspect, unobserved, leaving, closed };
mtype:trigger = { life, silence, pause, resume, resume_unheard, leave, goaway, end };
mtype:event = {
  calm, silence_towards_0, silence_towards_1, process_stalls, machine_stops, runs_again, reading_stops, reading_goes_on,
  leaves_0, leaves_1, ends_0, ends_1
};

typedef Path {
  byte slot[DELAY + 1];   /* by age: sent in this tick, in the one before, ... */
  byte inbox;             /* arrived, not read */
  bit isSilent;           /* for good */
};
/* Towards peer 0 and towards peer 1. */
Path path[2];

mtype:state state[2];
byte silentTicks[2];      /* since the last life, at most DEAD */
byte quietTicks[2];       /* since the last frame sent, at most T */
byte asked[2];            /* 0: no question since the last life; else 1 + its age */
bit isHeard[2];
bit isCounting[2];        /* silence counts: from the first question on */
bit probes[2];            /* a suspect probe is due */
byte graces[2];
byte graceTicks[2];       /* of the running grace, left */
byte late[2];             /* 0: no late wake since the last life; else 1 + its age */
byte lagTicks;            /* how long peer 0 has not been running */
bit isStalled;            /* peer 0 is not running */
bit isFrozen;             /* ... and what is under way to it stands still */
bit hasFrozen;            /* in this silence: it is assumed to happen once at most */
bit isPaused;             /* peer 0 does not read */

/* What the properties need to know. */
byte ends[2];
byte deafTicks[2];        /* ticks of running and reading since the path fell silent */
bit isExcused[2];         /* the other side was not running at some time of this silence */

/* Choices of a round. */
mtype:event event;
byte arrives[2];          /* slots of this age and older arrive */
byte sends[2];            /* what duty would send now */
byte writes[2];           /* the host writes */

#define row(from, by) (state[p] == from && trigger == by)
#define next(to) state[p] = to

/* The table of src/session/states.ts; pairs that are not here stay where they are. A test compares the two. */
inline move(p, trigger) {
  if
  /* table begins */
  :: row(opening, life) -> next(up)
  :: row(opening, silence) -> next(suspect)
  :: row(opening, pause) -> next(unobserved)
  :: row(opening, leave) -> next(leaving)
  :: row(opening, goaway) -> next(leaving)
  :: row(opening, end) -> next(closed)
  :: row(up, silence) -> next(suspect)
  :: row(up, pause) -> next(unobserved)
  :: row(up, leave) -> next(leaving)
  :: row(up, goaway) -> next(leaving)
  :: row(up, end) -> next(closed)
  :: row(suspect, life) -> next(up)
  :: row(suspect, pause) -> next(unobserved)
  :: row(suspect, leave) -> next(leaving)
  :: row(suspect, goaway) -> next(leaving)
  :: row(suspect, end) -> next(closed)
  :: row(unobserved, resume) -> next(up)
  :: row(unobserved, resume_unheard) -> next(opening)
  :: row(unobserved, leave) -> next(leaving)
  :: row(unobserved, goaway) -> next(leaving)
  :: row(unobserved, end) -> next(closed)
  :: row(leaving, end) -> next(closed)
  /* table ends */
  :: else
  fi;
  probes[p] = probes[p] && state[p] == suspect
}

/* `hops`: how many frames led to this one. Only a PING causes a frame, and what it causes causes nothing. */
inline put(p, frame, hops) {
  assert(hops <= 1);
  if
  :: !path[1 - p].isSilent -> path[1 - p].slot[0] = path[1 - p].slot[0] | frame
  :: else
  fi;
  quietTicks[p] = (isCounting[p] -> 0 : quietTicks[p]) /* the first question keeps its time */
}

inline ask(p) {
  isCounting[p] = 1;
  put(p, PING, 0);
  if
  :: asked[p] == 0 -> asked[p] = 1
  :: else
  fi
}

inline finish(p) {
  if
#ifdef MUTANT_ENDS_TWICE
  :: true ->
#else
  :: state[p] != closed ->
#endif
    ends[p]++;
    put(p, FIN, 0)
  :: else
  fi;
  move(p, end)
}

/* Silence begins anew, and whatever was asked before no longer weighs. */
inline freshWindow(p) {
  silentTicks[p] = 0;
  asked[p] = 0;
  graces[p] = 0;
  graceTicks[p] = 0;
  late[p] = 0;
  isExcused[p] = 0;
  if
  :: p == 0 -> hasFrozen = isFrozen
  :: else
  fi
}

inline alive(p) {
  freshWindow(p);
  isHeard[p] = 1;
  isCounting[p] = 1;
  move(p, life)
}

#define came(frame) ((path[p].inbox & (frame)) != 0)

inline read(p) {
  if
  :: state[p] != closed && came(BEAT | PING | PONG | GOAWAY) -> alive(p)
  :: else
  fi;
  if
  :: state[p] != closed && came(GOAWAY) -> move(p, goaway)
  :: else
  fi;
  if
  :: state[p] != closed && came(PING) -> put(p, PONG, 1)
  :: else
  fi;
#ifdef MUTANT_ANSWERS_ARE_ANSWERED
  if
  :: state[p] != closed && came(PONG) -> put(p, PONG, 2)
  :: else
  fi;
#endif
  if
  :: came(FIN) -> finish(p)
  :: else
  fi;
  path[p].inbox = NOTHING
}

/* Is the peer, or the path it needs, really at fault? */
#ifdef RESPONDER
#define isCutOff(p) (path[p].isSilent || (p == 0 && path[1].isSilent))
#else
#define isCutOff(p) (path[p].isSilent)
#endif

inline die(p) {
  /* Nobody is declared dead who lives, runs and can be heard. */
  assert(isCutOff(p) || isExcused[p] || state[1 - p] == closed);
  assert(silentTicks[p] == DEAD);
  finish(p)
}

#define maySuspect(p) (state[p] == opening || state[p] == up)
#define isSuspectDue(p) (maySuspect(p) && silentTicks[p] >= SUSPECT)
#ifdef MUTANT_VERDICT_WITHOUT_QUESTION
#define isDeathDue(p) (silentTicks[p] == DEAD)
#else
#define isDeathDue(p) (silentTicks[p] == DEAD && (asked[p] == 0 || asked[p] > ANSWER_WITHIN))
#endif
#define isPausedFor(p) (p == 0 && isPaused)

#ifdef MUTANT_NO_GRACE
#define mayGrace(p) false
#else
#ifdef MUTANT_GRACES_WITHOUT_END
#define mayGrace(p) (late[p] != 0 && late[p] <= GRACE)
#else
#define mayGrace(p) (late[p] != 0 && late[p] <= GRACE && graces[p] < MAX_GRACES)
#endif
#endif

#ifdef MUTANT_VERDICT_WITHOUT_QUESTION
#define isQuestionNeeded(p) false
#else
#define isQuestionNeeded(p) (asked[p] == 0)
#endif

inline judge(p) {
  if
#ifdef MUTANT_JUDGES_WHILE_PAUSED
  :: state[p] != closed && graceTicks[p] == 0 && (isSuspectDue(p) || (!maySuspect(p) && isDeathDue(p))) ->
#else
  :: state[p] != closed && graceTicks[p] == 0 && !isPausedFor(p) &&
     (isSuspectDue(p) || (!maySuspect(p) && isDeathDue(p))) ->
#endif
    if
    :: mayGrace(p) ->
      graceTicks[p] = GRACE + 1 - late[p];
      late[p] = 0;
      graces[p] = (graces[p] < MAX_GRACES -> graces[p] + 1 : MAX_GRACES)
    :: else ->
      if
      :: isSuspectDue(p) -> move(p, silence); probes[p] = 1
      :: else
      fi;
      if
      :: isDeathDue(p) && !isQuestionNeeded(p) -> die(p)
      :: else
      fi
    fi
  :: else
  fi
}

inline duty(p) {
  if
  :: state[p] == closed
  :: else ->
    if
    :: writes[p] -> put(p, BEAT, 0)
    :: else
    fi;
    if
#ifdef RESPONDER
    :: p == 1
#endif
    :: probes[p] -> probes[p] = 0; ask(p)
#ifndef MUTANT_ASKS_ONLY_WHEN_DUE
    :: silentTicks[p] >= T && asked[p] == 0 -> ask(p)
#endif
    :: else ->
      if
      :: writes[p] && isCounting[p]
      :: else ->
        if
        :: sends[p] == PING || (sends[p] != NOTHING && !isHeard[p]) -> ask(p)
        :: sends[p] == BEAT && isHeard[p] -> put(p, BEAT, 0)
        :: else
        fi
      fi
    fi
  fi
}

#define isRunning(p) (p == 1 || !isStalled)

inline session(p) {
  if
  :: isRunning(p) ->
#ifdef MUTANT_JUDGES_BEFORE_READING
    judge(p);
#endif
    if
    :: !isPausedFor(p) -> read(p)
    :: else
    fi;
    judge(p);
    duty(p)
  :: else -> isExcused[1 - p] = 1
  fi;
  assert(ends[p] == (state[p] == closed -> 1 : 0))
}

inline arrive(p) {
  if
  :: p == 0 && isFrozen
  :: else ->
    age = DELAY;
    do
    :: age >= arrives[p] ->
      path[p].inbox = path[p].inbox | path[p].slot[age];
      path[p].slot[age] = NOTHING;
      age--
    :: else -> break
    od
  fi;
  age = 0
}

/* What is under way on a path that falls silent is lost with it. */
inline fallSilent(p) {
  path[p].isSilent = 1;
  age = 0;
  do
  :: age <= DELAY -> path[p].slot[age] = NOTHING; age++
  :: else -> age = 0; break
  od
}

inline happen() {
  if
  :: event == silence_towards_0 -> fallSilent(0)
  :: event == silence_towards_1 -> fallSilent(1)
  :: event == process_stalls -> isStalled = 1
  :: event == machine_stops -> isStalled = 1; isFrozen = 1; hasFrozen = 1
  :: event == runs_again ->
    if
    :: 2 * lagTicks > T -> late[0] = 1
    :: else
    fi;
    isStalled = 0; isFrozen = 0; lagTicks = 0
  :: event == reading_stops -> isPaused = 1; move(0, pause)
  :: event == reading_goes_on ->
    isPaused = 0; isCounting[0] = 1; deafTicks[0] = 0;
    freshWindow(0);
    if
    :: isHeard[0] -> move(0, resume)
    :: else -> move(0, resume_unheard)
    fi
  :: event == leaves_0 -> put(0, GOAWAY, 0); move(0, leave)
  :: event == leaves_1 -> put(1, GOAWAY, 0); move(1, leave)
  :: event == ends_0 -> finish(0)
  :: event == ends_1 -> finish(1)
  :: else
  fi
}

#define saturate(counter, limit) counter = (counter < (limit) -> counter + 1 : counter)
#define bound(p) (DETECTION + graces[p] * GRACE + (isHeard[p] -> 0 : T))

inline tickOf(p) {
  if
  :: state[p] == closed ->
    /* Nothing more is known of it, so that all ways to an end meet. */
    freshWindow(p); isHeard[p] = 0; isCounting[p] = 0; quietTicks[p] = 0; deafTicks[p] = 0
  :: else ->
    saturate(quietTicks[p], T);
    if
    :: isCounting[p] -> saturate(silentTicks[p], DEAD)
    :: else
    fi;
    if
    :: asked[p] != 0 -> saturate(asked[p], RTO + 1)
    :: else
    fi;
    if
    :: graceTicks[p] != 0 -> graceTicks[p]--
    :: else
    fi;
    if
    :: late[p] != 0 -> late[p] = (late[p] <= GRACE -> late[p] + 1 : 0)
    :: else
    fi;
    if
    :: path[p].isSilent && isRunning(p) && !isPausedFor(p) ->
      /* Who is dead is declared dead, and in time. A responder judges nobody. */
#ifdef RESPONDER
      if
      :: p == 0 -> deafTicks[p]++; assert(deafTicks[p] <= bound(p))
      :: else
      fi
#else
      deafTicks[p]++; assert(deafTicks[p] <= bound(p))
#endif
    :: else
    fi
  fi;
  age = DELAY;
  if
  :: p == 0 && isFrozen
  :: else ->
    do
    :: age > 0 -> path[p].slot[age] = path[p].slot[age - 1]; age--
    :: else -> path[p].slot[0] = NOTHING; break
    od
  fi;
  age = 0
}

/* An empty slot is no choice. */
inline chooseArrival(p) {
  arrives[p] = DELAY;
  do
  :: arrives[p] > 1 && path[p].slot[arrives[p] - 1] != NOTHING -> arrives[p]--
  :: arrives[p] > 2 && path[p].slot[arrives[p] - 1] == NOTHING -> arrives[p]--
  :: break
  od
}

/* Due from a tick before the interval is over (the rule's three quarters, rounded down), at the latest when it is. */
inline chooseDuty(p) {
  if
#ifdef RESPONDER
  :: p == 1 -> sends[p] = NOTHING
#endif
  :: state[p] == closed || quietTicks[p] < T -> sends[p] = NOTHING
  :: state[p] != closed && quietTicks[p] >= T - 1 -> sends[p] = BEAT
  :: state[p] != closed && quietTicks[p] >= T - 1 -> sends[p] = PING
  fi
}

inline chooseWrite(p) {
#ifdef BUSY
  if
  :: writes[p] = 0
  :: state[p] != closed && isRunning(p) -> writes[p] = 1
  fi
#else
  writes[p] = 0
#endif
}

inline chooseEvent() {
  if
  :: event = calm
  :: !path[0].isSilent -> event = silence_towards_0
  :: !path[1].isSilent -> event = silence_towards_1
#ifdef STALLS
  :: state[0] != closed && !isStalled -> event = process_stalls
  :: state[0] != closed && !isStalled && !hasFrozen -> event = machine_stops
  :: isStalled -> event = runs_again
#endif
#ifdef PAUSES
  :: state[0] != closed && !isStalled && !isPaused -> event = reading_stops
  :: state[0] != closed && !isStalled && isPaused -> event = reading_goes_on
#endif
#ifdef ENDS
  :: state[0] != closed && state[0] != leaving && !isStalled -> event = leaves_0
  :: state[1] != closed && state[1] != leaving -> event = leaves_1
  :: state[0] != closed && !isStalled -> event = ends_0
  :: state[1] != closed -> event = ends_1
#endif
  fi
}

active proctype world() {
  byte age;
  /* First frames are due anywhere within the first interval. */
  atomic {
    state[0] = opening; state[1] = opening;
    select(age : 0 .. T); quietTicks[0] = age;
    select(age : 0 .. T); quietTicks[1] = age;
#ifdef RESPONDER
    state[1] = up
#endif
    age = 0
  }
  do
  :: atomic {
    (state[0] != closed || state[1] != closed) ->
      chooseEvent();
      chooseArrival(0); chooseArrival(1);
      chooseDuty(0); chooseDuty(1);
      chooseWrite(0); chooseWrite(1);
      d_step {
        happen();
        arrive(0); arrive(1);
        session(0); session(1);
        if
        :: isStalled -> saturate(lagTicks, T)
        :: else
        fi;
        tickOf(0); tickOf(1);
        event = calm;
        arrives[0] = 0; arrives[1] = 0;
        sends[0] = 0; sends[1] = 0;
        writes[0] = 0; writes[1] = 0
      }
    }
  :: atomic { (state[0] == closed && state[1] == closed) -> break }
  od
}
