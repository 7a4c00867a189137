// Server-sent events are assembled from chunks, wherever they are cut.
import { expect, test } from "vitest";
import { EventLines } from "../src/api/sse";

test("pieces give what the whole gives", () => {
  const text = ": keep-alive\n\nid: 1\nevent: x\ndata: {\"a\":1}\n\ndata:first\r\ndata: second\r\n\r\n";
  for (let size = 1; size <= text.length; size += 1) {
    const said: string[] = [];
    const lines = new EventLines((data) => said.push(data));
    for (let at = 0; at < text.length; at += size) lines.take(text.slice(at, at + size));
    expect(said).toEqual(['{"a":1}', "first\nsecond"]);
  }
});
