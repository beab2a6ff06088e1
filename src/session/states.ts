/**
 * The life of a link as one table (spec/HB1.md, liveness). A pair marked `stay` is an explicit no-op. The session
 * changes state nowhere else; whatever is not written here cannot happen.
 *
 * opening     nothing valid heard yet; silence is counted from our first question
 * up          life within the suspect limit
 * suspect     silent beyond the suspect limit; asked at RTT speed; any life refutes
 * unobserved  we paused reading: the receive clocks stand still, our duty to send goes on
 * leaving     a GOAWAY was sent or received; still beating and answering
 * closed      over; nothing leads out
 */
export type LinkState = 'opening' | 'up' | 'suspect' | 'unobserved' | 'leaving' | 'closed';

/**
 * life: a valid frame or accepted host bytes; silence: the suspect limit passed; pause / resume: our own reading
 * (resume-unheard: nothing was ever heard); leave: we said GOAWAY; goaway: the peer did; end: verdict or teardown.
 */
export type Trigger = 'life' | 'silence' | 'pause' | 'resume' | 'resume-unheard' | 'leave' | 'goaway' | 'end';

const stay = undefined;

export const TRANSITIONS: Readonly<Record<LinkState, Readonly<Record<Trigger, LinkState | undefined>>>> = {
  opening: {
    life: 'up',
    silence: 'suspect',
    pause: 'unobserved',
    resume: stay,
    'resume-unheard': stay,
    leave: 'leaving',
    goaway: 'leaving',
    end: 'closed',
  },
  up: {
    life: stay,
    silence: 'suspect',
    pause: 'unobserved',
    resume: stay,
    'resume-unheard': stay,
    leave: 'leaving',
    goaway: 'leaving',
    end: 'closed',
  },
  suspect: {
    life: 'up',
    silence: stay,
    pause: 'unobserved',
    resume: stay,
    'resume-unheard': stay,
    leave: 'leaving',
    goaway: 'leaving',
    end: 'closed',
  },
  unobserved: {
    life: stay,
    silence: stay,
    pause: stay,
    resume: 'up',
    'resume-unheard': 'opening',
    leave: 'leaving',
    goaway: 'leaving',
    end: 'closed',
  },
  leaving: {
    life: stay,
    silence: stay,
    pause: stay,
    resume: stay,
    'resume-unheard': stay,
    leave: stay,
    goaway: stay,
    end: 'closed',
  },
  closed: {
    life: stay,
    silence: stay,
    pause: stay,
    resume: stay,
    'resume-unheard': stay,
    leave: stay,
    goaway: stay,
    end: stay,
  },
};
