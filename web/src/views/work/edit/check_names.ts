// The names of checks that the accepted projects of a workspace define, for suggestions.
import { get } from "../../../api/client";

/** Names of checks, sorted; empty without a project. */
export async function checkNames(workspace: string): Promise<string[]> {
  try {
    const { projects } = await get("/api/projects");
    const own = projects.filter((project) => !project.workspace || project.workspace === workspace);
    return [...new Set(own.flatMap((project) => Object.keys(project.accepted?.definition.checks ?? {})))].sort();
  } catch {
    // Suggestions are not needed to type a name.
    return [];
  }
}
