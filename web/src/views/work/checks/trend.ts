// The last runs of a check as bars: how long each took, and how it ended.
import type { CheckRun } from "../../../api/wire";
import type { Bar } from "../../../ui/Bars.svelte";
import { agoSaid, counted, span } from "../../../ui/format";

type Verdict = NonNullable<CheckRun["verdict"]>;
const TONES: Record<Verdict, Bar["tone"]> = {
  passed: "done",
  failed: "failed",
  timed_out: "failed",
  empty: "failed",
  moved: "blocked",
  interrupted: "idle",
};
/** Bars that are shown. */
const BARS_MAX = 12;

/** The newest finished runs, oldest first; the list has the newest first. */
export function trendBars(runs: readonly CheckRun[], now: number): Bar[] {
  return runs
    .flatMap((run) => (run.verdict ? [{ run, verdict: run.verdict, took: run.duration_ms ?? 0 }] : []))
    .slice(0, BARS_MAX)
    .map(({ run, verdict, took }) => ({
      value: took,
      tone: TONES[verdict],
      title: `${run.id} ${verdict.replace("_", " ")} in ${span(took)}, ${agoSaid(run.requested_at_ms, now)}`,
    }))
    .reverse();
}

export const trendText = (count: number): string => `Durations of the last ${counted(count, "run")}`;
