import { describe, expect, it } from "vitest";
import { admits, authorText, filterChoices, lookCounts, stepFilter, type Look } from "../src/state/looks";

const open = { completed: false };
const closed = (look: Look) => ({ completed: true, look });

describe("what backs a closed step", () => {
  const steps = [open, closed("claimed"), closed("proven"), closed("proven")];

  it("filters steps by it, and offers only filters that show something", () => {
    expect(filterChoices(steps)).toEqual([
      { filter: "all", count: 4 },
      { filter: "open", count: 1 },
      { filter: "claimed", count: 1 },
      { filter: "proven", count: 2 },
    ]);
    expect(steps.filter((step) => admits("open", step))).toEqual([open]);
    expect(stepFilter("waived")).toBe("waived");
    expect(stepFilter("certain")).toBe("all");
    expect(stepFilter(null)).toBe("all");
  });

  it("counts the weakest first and leaves out what there is not", () => {
    expect(lookCounts({ proven: 3, claimed: 1 })).toEqual([
      { look: "claimed", count: 1 },
      { look: "proven", count: 3 },
    ]);
    expect(lookCounts(undefined)).toEqual([]);
  });

  it("names who closed it", () => {
    expect(authorText({ kind: "agent", name: "claude-code 2.1", via: "mcp" })).toBe("claude-code 2.1 over MCP");
    expect(authorText({ kind: "person", name: "ada", via: "page" })).toBe("ada");
    expect(authorText({ kind: "server", name: "check", via: "server" })).toBe("Muster");
  });
});
