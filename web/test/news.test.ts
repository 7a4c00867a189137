import { describe, expect, it } from "vitest";
import type { Attention } from "../src/api/wire";
import { fresh, told } from "../src/state/news";
import { waitingKey, type Waiting } from "../src/state/waiting";

function asked(id: string): Waiting {
  const item: Attention = {
    kind: "approval",
    runId: "0197",
    refId: id,
    title: `shell: ${id}`,
    since: "2026-05-04T09:12:43.000Z",
  };
  return { of: "run", item };
}
const keys = (list: Waiting[]): Set<string> => new Set(list.map(waitingKey));

describe("notifications of the browser", () => {
  it("tell what was not there before, and nothing of the first list", () => {
    const [one, two] = [asked("push"), asked("tag")];
    expect(fresh(undefined, [one])).toEqual([]);
    expect(fresh(keys([one]), [one, two])).toEqual([two]);
    expect(fresh(keys([one, two]), [two])).toEqual([]);
  });

  it("name an item, and count many", () => {
    expect(told([asked("push")])).toMatchObject([{ title: "Approval", body: "shell: push" }]);
    const many = told(["a", "b", "c", "d"].map(asked));
    expect(many).toMatchObject([{ title: "4 things wait for you" }]);
    expect(many[0]?.body.split("\n")).toHaveLength(4);
  });
});
