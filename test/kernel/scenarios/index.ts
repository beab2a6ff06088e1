/** All scenarios of the lab, the long ones first so that short ones fill the time beside them. */
import type { Scenario } from '../scenario.ts';
import { FAR_ENDS } from './far-ends.ts';
import { MIDDLEBOXES } from './middleboxes.ts';
import { PACKETS } from './packets.ts';
import { PATIENCE } from './patience.ts';
import { PROCESSES } from './processes.ts';

export const SCENARIOS: readonly Scenario[] = [
  ...MIDDLEBOXES,
  ...PROCESSES,
  ...PATIENCE,
  ...PACKETS,
  ...FAR_ENDS,
];
