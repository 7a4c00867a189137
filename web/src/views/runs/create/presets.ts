// Preset graphs for a new run.
import type { Provider } from "../../../api/wire";

export interface DraftNode {
  label: string;
  alias: string;
  role: string;
  provider: Provider["name"];
  profile: string;
  gated: boolean;
}

export interface DraftCheck {
  name: string;
  command: string;
}

export type PresetId = "solo" | "lead" | "review";

export const PRESETS: readonly (readonly [PresetId, string])[] = [
  ["solo", "one agent"],
  ["lead", "lead and two workers"],
  ["review", "plan, build, review"],
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
    gated: false,
  }));
}
