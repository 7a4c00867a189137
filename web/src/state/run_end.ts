// What is said at the end of a run: what was reached, by what that is known, and what is left.
import type { Run } from "../api/wire";
import { runName } from "./run_names";
import type { Tone } from "./words";

/** A check of the last verification. */
export interface CheckVerdict {
  name?: string;
  ok: boolean;
  required?: boolean;
}

export interface EndFacts {
  headline: string;
  /** What is known about each line of "done when". */
  verdict: string;
  tone: Tone;
}

/** Who says that the run is done, and whether checks agree. */
export function endFacts(run: Run, checks: readonly CheckVerdict[]): EndFacts {
  const lead = run.completion?.nodeId ? run.nodes[run.completion.nodeId]?.label : undefined;
  const by = run.completion?.by === "user" ? "you" : (lead ?? "the lead");
  const optional = checks.filter((check) => !check.ok && check.required === false);
  const left = optional.map((check) => check.name ?? "a check").join(", ");
  if (run.verification?.ok === false) return { headline: "Ended, but checks failed", verdict: "not shown", tone: "failed" };
  if (!run.verification?.ok) {
    return { headline: `Declared done by ${by}; no check ran`, verdict: `said by ${by}`, tone: "blocked" };
  }
  const headline = left ? `Done, checks passed; optional and failed: ${left}` : "Done, and its checks passed";
  return { headline, verdict: `said by ${by}, checks passed`, tone: "done" };
}

/** What is still open although the run has ended. */
export function openPoints(run: Run): string[] {
  return Object.values(run.nodes).flatMap((node) => [
    ...(node.question ? [`${node.label} asked: ${node.question.text}`] : []),
    ...((node.failedInputs ?? 0) > 0 ? [`${node.label} has messages that failed`] : []),
  ]);
}

/** A description for a pull request. */
export function pullText(run: Run, checks: readonly CheckVerdict[]): string {
  const done = run.definitionOfDone.map((line) => `- ${line}`);
  const verdicts = checks.map((check) => `- ${check.name ?? "check"}: ${check.ok ? "passed" : "failed"}`);
  return [
    `# ${runName(run)}`,
    run.goal ?? "",
    run.completion?.summary ?? "",
    done.length > 0 ? `## Done when\n\n${done.join("\n")}` : "",
    verdicts.length > 0 ? `## Checks\n\n${verdicts.join("\n")}` : "",
  ]
    .filter(Boolean)
    .join("\n\n");
}
