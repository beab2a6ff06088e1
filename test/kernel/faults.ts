/** What the packet filter does to a link. Each resolves when it is in force, with the time. */
import type { Stage } from './stage.ts';

/** Outbound packets are lost on arrival, where the near kernel cannot know. */
export const loseOutbound = (stage: Stage): Promise<number> => stage.filter('far', '-A INPUT -j DROP');

export const loseInbound = (stage: Stage): Promise<number> => stage.filter('near', '-A INPUT -j DROP');

export async function loseAll(stage: Stage): Promise<number> {
  await loseInbound(stage);
  return loseOutbound(stage);
}

/** What is written in one piece carries PSH, a bare acknowledgement does not. */
export const loseOutboundData = (stage: Stage): Promise<number> =>
  stage.filter('far', '-A INPUT -p tcp --tcp-flags PSH PSH -j DROP');

export const refuse = (stage: Stage, answer: 'tcp-reset' | 'icmp-host-unreachable'): Promise<number> =>
  stage.filter('far', `-A INPUT -p tcp -j REJECT --reject-with ${answer}`);
