// Loads the text of artifacts in chunks.
import { get } from "../../../api/client";

const TEXT_BYTES_MAX = 6 * 1024 * 1024;

/** The text of an artifact, up to the size that a page can show. */
export async function readWhole(run: string, artifact: string): Promise<string> {
  let text = "";
  let offset: number | null = 0;
  while (offset !== null && text.length < TEXT_BYTES_MAX) {
    const piece: { content: string; encoding: string; nextOffset: number | null } = await get(
      "/api/runs/{run}/artifacts/{artifact}",
      { path: { run, artifact }, query: { offset, maxBytes: 4 * 1024 * 1024 } },
    );
    if (piece.encoding !== "utf-8") throw new Error("this artifact is not text; download it instead");
    text += piece.content;
    offset = piece.nextOffset;
  }
  return text;
}
