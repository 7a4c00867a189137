// What a person always allows, as it is shown: the words around the command, path or tool that a rule names.

export interface RuleWords {
  before: string;
  /** What the rule names, to be shown character by character. */
  named: string;
  after: string;
}

/** The parts of a rule in words; the server writes what is named between backticks. */
export function ruleWords(text: string): RuleWords {
  const found = /^([^`]*)`([\s\S]*)`([^`]*)$/.exec(text);
  return found ? { before: found[1]!, named: found[2]!, after: found[3]! } : { before: text, named: "", after: "" };
}
