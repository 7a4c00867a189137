// Preset graphs for a new run.
import type { Provider } from "../../../api/wire";
import type { DraftNode } from "../../../state/new_run";

export type PresetId = "solo" | "lead" | "review";

/** Presets with their names, and what each is good for. */
export const PRESETS: readonly (readonly [PresetId, string, string])[] = [
  ["solo", "One agent", "does everything itself"],
  ["lead", "Lead and two workers", "the lead splits the goal and hands out parts"],
  ["review", "Plan, build, review", "one plans, one builds, one reviews"],
];

const ROLES: Record<PresetId, readonly (readonly [string, string])[]> = {
  solo: [["Lead", "orchestrator"]],
  lead: [
    ["Lead", "orchestrator"],
    ["First", "implementer"],
    ["Second", "implementer"],
  ],
  review: [
    ["Lead", "orchestrator"],
    ["Planner", "planner"],
    ["Builder", "implementer"],
    ["Reviewer", "reviewer"],
  ],
};

/** The nodes of a preset, with the first program found on this machine. */
export function preset(id: PresetId, providers: readonly Provider[]): DraftNode[] {
  const found = providers.find((provider) => provider.available) ?? providers[0];
  return ROLES[id].map(([label, role]) => ({
    label,
    alias: label.toLowerCase(),
    role,
    provider: found?.name ?? "claude",
    profile: found?.profiles[0] ?? "",
    gated: true,
  }));
}
