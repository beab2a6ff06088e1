/** Does jobs a few at a time, in their order. */
export async function inParallel<T>(
  jobs: readonly T[],
  atATime: number,
  perform: (job: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < jobs.length) await perform(jobs[next++] as T);
  };
  await Promise.all(Array.from({ length: Math.min(atATime, jobs.length) }, worker));
}
