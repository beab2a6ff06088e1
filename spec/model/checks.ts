/**
 * What `npm run model` searches: configurations in which every property must hold, and planted mistakes of which each
 * must be found. The switches are explained at the head of each model.
 */
export interface Planned {
  readonly model: 'liveness' | 'negotiation';
  /** Switches, as for the compiler's -D. */
  readonly defines: readonly string[];
  /** What it shows when all goes well. */
  readonly shows: string;
}

export interface Check extends Planned {
  /** Small enough for the ordinary test run. */
  readonly isQuick: boolean;
}

const SAFE = 'no live peer dies, a dead one does in time, answers end, one end each';

export const CHECKS: readonly Check[] = [
  { model: 'liveness', defines: ['BUSY'], isQuick: true, shows: SAFE },
  { model: 'liveness', defines: ['ENDS'], isQuick: true, shows: SAFE },
  { model: 'liveness', defines: ['RESPONDER', 'BUSY', 'PAUSES'], isQuick: true, shows: SAFE },
  { model: 'liveness', defines: ['PAUSES', 'ENDS'], isQuick: false, shows: SAFE },
  { model: 'liveness', defines: ['STALLS'], isQuick: false, shows: SAFE },
  { model: 'liveness', defines: ['T=2', 'M=3', 'STALLS'], isQuick: false, shows: SAFE },
  { model: 'liveness', defines: ['RESPONDER', 'BUSY', 'STALLS'], isQuick: false, shows: SAFE },
  {
    model: 'negotiation',
    defines: [],
    isQuick: true,
    shows: 'no change of rates kills, both ends agree, only a POLL is answered',
  },
];

const FALSE_DEATH = 'a live peer is declared dead';
const NOT_IN_TIME = 'a dead peer is declared dead too late';

export const MUTANTS: readonly Planned[] = [
  {
    model: 'liveness',
    defines: ['RESPONDER', 'BUSY', 'MUTANT_VERDICT_WITHOUT_QUESTION'],
    shows: FALSE_DEATH,
  },
  {
    model: 'liveness',
    defines: ['RESPONDER', 'BUSY', 'MUTANT_ONE_INTERVAL_FOR_THE_ANSWER'],
    shows: FALSE_DEATH,
  },
  { model: 'liveness', defines: ['RESPONDER', 'BUSY', 'MUTANT_ASKS_ONLY_WHEN_DUE'], shows: NOT_IN_TIME },
  { model: 'liveness', defines: ['STALLS', 'MUTANT_NO_GRACE'], shows: FALSE_DEATH },
  { model: 'liveness', defines: ['STALLS', 'MUTANT_GRACES_WITHOUT_END'], shows: NOT_IN_TIME },
  { model: 'liveness', defines: ['STALLS', 'MUTANT_JUDGES_BEFORE_READING'], shows: FALSE_DEATH },
  { model: 'liveness', defines: ['PAUSES', 'MUTANT_JUDGES_WHILE_PAUSED'], shows: FALSE_DEATH },
  { model: 'liveness', defines: ['MUTANT_ANSWERS_ARE_ANSWERED'], shows: 'an exchange goes on' },
  { model: 'liveness', defines: ['ENDS', 'MUTANT_ENDS_TWICE'], shows: 'a link ends twice' },
  { model: 'negotiation', defines: ['MUTANT_SENDER_SLOWS_AT_POLL'], shows: FALSE_DEATH },
  { model: 'negotiation', defines: ['MUTANT_SENDER_SPEEDS_UP_AT_FINAL'], shows: FALSE_DEATH },
  { model: 'negotiation', defines: ['MUTANT_RECEIVER_SHORTENS_AT_POLL'], shows: FALSE_DEATH },
  { model: 'negotiation', defines: ['MUTANT_APPLIES_WHAT_IT_REFUSES'], shows: 'the two ends disagree' },
  { model: 'negotiation', defines: ['MUTANT_ANSWERS_A_FINAL'], shows: 'an exchange goes on' },
  { model: 'negotiation', defines: ['MUTANT_GIVES_UP_TOO_SOON'], shows: FALSE_DEATH },
];
