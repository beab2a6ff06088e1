/**
 * What `npm run model` searches: configurations in which every property must hold, and planted mistakes of which each
 * must be found. The switches are explained at the head of each model.
 */
export interface Planned {
  readonly model: 'liveness' | 'negotiation';
  /** Switches, as for the compiler's -D. */
  readonly defines: readonly string[];
  /** What it shows when all goes well; of a mistake: the property it breaks. */
  readonly shows: string;
}

/** The properties, each by what breaking it looks like, and words that only its assertion contains. */
export const PROPERTIES = {
  falseDeath: { broken: 'a live peer is declared dead', pattern: /isExcused|silentTicks<\(/ },
  tooEarly: { broken: 'a peer is declared dead before its time', pattern: /silentTicks\[\d\]==/ },
  notInTime: { broken: 'a dead peer is declared dead too late', pattern: /deafTicks/ },
  endless: { broken: 'an exchange goes on', pattern: /^assertion violated \(\d<=1\)/ },
  oneEnd: { broken: 'a link ends not exactly once', pattern: /ends\[/ },
  agreement: { broken: 'the two ends disagree', pattern: /mine\.tx==/ },
} as const;

const SAFE = 'no live peer dies, a dead one does in time, answers end, one end each';

export const CHECKS: readonly Planned[] = [
  { model: 'liveness', defines: ['BUSY'], shows: SAFE },
  { model: 'liveness', defines: ['ENDS'], shows: SAFE },
  { model: 'liveness', defines: ['RESPONDER', 'BUSY', 'PAUSES'], shows: SAFE },
  { model: 'liveness', defines: ['PAUSES', 'ENDS'], shows: SAFE },
  { model: 'liveness', defines: ['STALLS'], shows: SAFE },
  { model: 'liveness', defines: ['T=2', 'M=3', 'STALLS'], shows: SAFE },
  { model: 'liveness', defines: ['RESPONDER', 'BUSY', 'STALLS'], shows: SAFE },
  {
    model: 'negotiation',
    defines: [],

    shows: 'no change of rates kills, both ends agree, only a POLL is answered',
  },
];

const FALSE_DEATH = PROPERTIES.falseDeath.broken;
const NOT_IN_TIME = PROPERTIES.notInTime.broken;
const ENDLESS = PROPERTIES.endless.broken;

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
  { model: 'liveness', defines: ['MUTANT_ANSWERS_ARE_ANSWERED'], shows: ENDLESS },
  { model: 'liveness', defines: ['ENDS', 'MUTANT_ENDS_TWICE'], shows: PROPERTIES.oneEnd.broken },
  { model: 'negotiation', defines: ['MUTANT_SENDER_SLOWS_AT_POLL'], shows: FALSE_DEATH },
  { model: 'negotiation', defines: ['MUTANT_SENDER_SPEEDS_UP_AT_FINAL'], shows: FALSE_DEATH },
  { model: 'negotiation', defines: ['MUTANT_RECEIVER_SHORTENS_AT_POLL'], shows: FALSE_DEATH },
  { model: 'negotiation', defines: ['MUTANT_APPLIES_WHAT_IT_REFUSES'], shows: PROPERTIES.agreement.broken },
  { model: 'negotiation', defines: ['MUTANT_ANSWERS_A_FINAL'], shows: ENDLESS },
  { model: 'negotiation', defines: ['MUTANT_GIVES_UP_TOO_SOON'], shows: FALSE_DEATH },
];
