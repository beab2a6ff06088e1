/** The table of states: every pair written out a second time by hand, from the specification's rows. */
import { describe, expect, it } from 'vitest';
import { type LinkState, TRANSITIONS, type Trigger } from '../../src/session/index.ts';

const STATES: LinkState[] = ['opening', 'up', 'suspect', 'unobserved', 'leaving', 'closed'];
const TRIGGERS: Trigger[] = [
  'life',
  'silence',
  'pause',
  'resume',
  'resume-unheard',
  'leave',
  'goaway',
  'end',
];

/** Every pair that leads somewhere; all others stay. */
const MOVES: Record<string, LinkState> = {
  'opening life': 'up',
  'opening silence': 'suspect',
  'opening pause': 'unobserved',
  'opening leave': 'leaving',
  'opening goaway': 'leaving',
  'opening end': 'closed',
  'up silence': 'suspect',
  'up pause': 'unobserved',
  'up leave': 'leaving',
  'up goaway': 'leaving',
  'up end': 'closed',
  'suspect life': 'up',
  'suspect pause': 'unobserved',
  'suspect leave': 'leaving',
  'suspect goaway': 'leaving',
  'suspect end': 'closed',
  'unobserved resume': 'up',
  'unobserved resume-unheard': 'opening',
  'unobserved leave': 'leaving',
  'unobserved goaway': 'leaving',
  'unobserved end': 'closed',
  'leaving end': 'closed',
};

describe('the table of states', () => {
  it('has exactly these states and triggers', () => {
    expect(Object.keys(TRANSITIONS)).toEqual(STATES);
    for (const state of STATES) expect(Object.keys(TRANSITIONS[state])).toEqual(TRIGGERS);
  });

  it.each(STATES.flatMap((state) => TRIGGERS.map((trigger) => [state, trigger] as const)))(
    'in %s, %s does what the specification says',
    (state, trigger) => {
      expect(TRANSITIONS[state][trigger]).toBe(MOVES[`${state} ${trigger}`]);
    },
  );
});
