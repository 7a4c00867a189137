// What the server refused, in words for the person at the page. Its own advice is for agents: it names their tools.

/** Facts of a refusal that words are made of. */
export interface RefusalFacts {
  argument?: string;
  expected?: string;
  reason?: string;
  path?: string;
  id?: string;
}

const HELP: Readonly<Record<string, string>> = {
  CHECKPOINTS_NOT_CONFIRMED: "Confirm what was actually checked, then close the step again.",
  PROOF_REQUIRED: "Attach proof: the command that ran and its output, or a link. Then close the step again.",
  CHECK_REQUIRED: "Run the check, or waive it if you know why it does not matter here. Then close again.",
  CHECK_RUNNING: "Its checks are still running. Close it again when they have passed.",
  CHECK_UNTRUSTED: "Read and accept the checks of the project under Projects, then close again.",
  REVISION_MISMATCH: "The current version is shown: check it, then try again.",
  PERSON_REQUIRED: "This browser is signed in as an agent. Type muster open in a terminal to sign in as yourself.",
  UNKNOWN_ID: "It may have been deleted in the meantime.",
  CHILDREN_OPEN: "Close what is below it first.",
  STEP_BLOCKED: "Unblock the step when the reason is gone, then close it.",
  STEPS_OPEN: "Close the open steps first; a task without steps needs one.",
  TASKS_OPEN: "Finish its open tasks first.",
  DEPENDENCIES_OPEN: "Finish what it depends on first, or remove the dependency.",
  UNDO_CONFLICT: "Undo the newer changes first, or change it by hand.",
};

const ABOUT_FORM = new Set(["missing", "wrong_type", "out_of_range", "bad_format"]);

const FIELDS: Readonly<Record<string, string>> = {
  success_criteria: "criteria",
  depends_on: "dependencies",
  new_domain: "area",
  title: "title",
};

/** The name of an argument as the forms of the page have it: `steps[1].success_criteria[0]` is "step 2, criteria". */
function fieldOf(argument: string): string {
  const parts = /^(?:steps\[(\d+)\]\.?)?(\w+)?/.exec(argument);
  const [, step, name = ""] = parts ?? [];
  const field = FIELDS[name] ?? name.replaceAll("_", " ");
  return [step === undefined ? "" : `step ${Number(step) + 1}`, field].filter(Boolean).join(", ");
}

/** What happened and what to do about it. */
export function refusalWords(
  code: string,
  message: string,
  recovery: string,
  facts: RefusalFacts,
): { message: string; hint: string } {
  if (code === "REVISION_MISMATCH") {
    const what = [facts.path, facts.id].filter(Boolean).join(" of ") || "it";
    return { message: `${what} was changed in the meantime`, hint: HELP[code]! };
  }
  if (code !== "INVALID_INPUT") return { message, hint: HELP[code] ?? recovery };
  const { argument, expected, reason = "" } = facts;
  if (argument && expected && ABOUT_FORM.has(reason)) return { message: `${fieldOf(argument)}: expected ${expected}`, hint: "" };
  return { message, hint: reason === "conflict" && argument === "plan" ? recovery : "" };
}
