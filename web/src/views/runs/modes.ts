// The ways to look at a run.

export type Mode = "graph" | "overview" | "timeline" | "changes" | "full";

/** Narrower pages show a list of nodes instead of the graph. */
export const NARROW_PX = 640;
