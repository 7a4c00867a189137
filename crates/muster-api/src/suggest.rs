//! Keeps suggestions and texts inside the listed toolset: what they name can be called by someone
//! who sees only the list (TASKS-SET-3, EASE-TOOLS-2).

use std::collections::BTreeSet;

use crate::{Envelope, Registry, Suggestion, Toolset};

pub(crate) type ToolNames = BTreeSet<&'static str>;

/// What serves instead of a tool that is not listed: another tool, and how to use it.
struct StandIn {
    tool: &'static str,
    /// Words after the name of the tool.
    how: &'static str,
}

const fn by(tool: &'static str, how: &'static str) -> StandIn {
    StandIn { tool, how }
}

/// Named where nothing listed serves.
const ANOTHER: &str = "a tool of a larger toolset";

/// Stand-ins of a tool, best first. Those that are not listed are skipped.
fn stand_ins(tool: &str) -> &'static [StandIn] {
    const CLOSE: &str = "tasks_macro_close_step";
    match tool {
        "tasks_note" => const { &[by("tasks_step", " (action note)"), by(CLOSE, " (its note)")] },
        "tasks_evidence_capture" => {
            const { &[by("tasks_step", " (action evidence)"), by(CLOSE, " (its proof)")] }
        }
        "tasks_verify" => {
            const { &[by("tasks_step", " (action confirm)"), by(CLOSE, " (its checkpoints)")] }
        }
        "tasks_block" => const { &[by("tasks_step", " (action block or unblock)")] },
        "tasks_define" => const { &[by("tasks_step", " (action define)")] },
        "tasks_decompose" => const { &[by("tasks_step", " (action split)")] },
        "tasks_progress" => const { &[by("tasks_step", " (action reopen)")] },
        "tasks_undo" => const { &[by("tasks_step", " (action undo)")] },
        "tasks_done" | "tasks_close_step" | "tasks_close_task" | "tasks_complete"
        | "tasks_macro_finish" => const { &[by(CLOSE, "")] },
        "tasks_create" | "tasks_bootstrap" | "tasks_scaffold" | "tasks_macro_create_done" => {
            const { &[by("tasks_macro_start", "")] }
        }
        "tasks_mirror" => const { &[by("tasks_radar", ""), by("tasks_snapshot", "")] },
        "tasks_handoff" | "tasks_context" | "tasks_next" | "tasks_radar" | "tasks_resume"
        | "tasks_resume_pack" | "tasks_resume_super" | "tasks_context_pack" | "tasks_delta"
        | "tasks_history" | "tasks_lint" | "tasks_evidence_get" | "tasks_focus_get" => {
            const { &[by("tasks_snapshot", "")] }
        }
        _ => &[],
    }
}

/// The action of `tasks_step` that makes a call, and the argument that the action implies.
fn step_action(suggestion: &Suggestion) -> Option<(&'static str, Option<&'static str>)> {
    let is_set = |name: &str| suggestion.params.get(name).is_some_and(|value| *value == true);
    let is_unset = |name: &str| suggestion.params.get(name).is_some_and(|value| *value == false);
    match suggestion.target.as_str() {
        "tasks_note" => Some(("note", None)),
        "tasks_evidence_capture" => Some(("evidence", None)),
        "tasks_verify" => Some(("confirm", None)),
        "tasks_define" => Some(("define", None)),
        "tasks_undo" => Some(("undo", None)),
        "tasks_block" if is_unset("blocked") => Some(("unblock", Some("blocked"))),
        "tasks_block" if is_set("blocked") => Some(("block", Some("blocked"))),
        "tasks_progress" if is_unset("completed") => Some(("reopen", Some("completed"))),
        _ => None,
    }
}

impl Registry {
    /// The tools that a toolset lists.
    pub fn names(&self, toolset: Toolset) -> ToolNames {
        self.listed(toolset).map(|row| row.name).collect()
    }

    /// The best of some tools in the words of a toolset: one that it lists, else what serves
    /// instead of one.
    pub fn best_of(&self, tools: &[&str], toolset: Toolset) -> Option<String> {
        let listed = self.names(toolset);
        let first = tools.iter().find(|tool| listed.contains(**tool));
        let known = |tool: &&str| self.get(tool).and_then(|row| words_for(row.name, &listed));
        first.map(|tool| (*tool).to_owned()).or_else(|| tools.iter().find_map(known))
    }

    /// A text that names tools, in which only tools of a toolset are named.
    pub fn in_toolset(&self, text: &str, toolset: Toolset) -> String {
        let listed = self.names(toolset);
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let mut fitted = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(is_part) {
            fitted.push_str(&rest[..at]);
            let end = rest[at..].find(|letter| !is_part(letter)).map_or(rest.len(), |n| at + n);
            let word = &rest[at..end];
            match self.get(word) {
                None => fitted.push_str(word),
                Some(_) => fitted.push_str(words_for(word, &listed).as_deref().unwrap_or(ANOTHER)),
            }
            rest = &rest[end..];
        }
        fitted.push_str(rest);
        fitted
    }
}

/// The tool in the words of a list that may lack it; `None` where nothing listed serves.
fn words_for(tool: &str, listed: &ToolNames) -> Option<String> {
    if listed.contains(tool) {
        return Some(tool.to_owned());
    }
    let other = stand_ins(tool).iter().find(|other| listed.contains(other.tool))?;
    Some(format!("{}{}", other.tool, other.how))
}

/// Fits what an answer says about other tools to a toolset. What it quotes of the caller stays.
pub(crate) fn fit_envelope(envelope: &mut Envelope, registry: &Registry, toolset: Toolset) {
    if toolset == Toolset::Full {
        return;
    }
    for warning in &mut envelope.warnings {
        warning.recovery = registry.in_toolset(&warning.recovery, toolset);
    }
    if let Some(error) = &mut envelope.error {
        error.recovery = registry.in_toolset(&error.recovery, toolset);
    }
}

/// Replaces suggestions of unlisted tools by listed ones that serve as well, and
/// drops those without a replacement.
pub(crate) fn fit(suggestions: Vec<Suggestion>, listed: &ToolNames) -> Vec<Suggestion> {
    suggestions.into_iter().filter_map(|suggestion| fit_one(suggestion, listed)).collect()
}

fn fit_one(mut suggestion: Suggestion, listed: &ToolNames) -> Option<Suggestion> {
    if listed.contains(suggestion.target.as_str()) {
        return Some(suggestion);
    }
    if let Some((action, stands_for)) = step_action(&suggestion)
        && listed.contains("tasks_step")
    {
        if let Some(argument) = stands_for {
            suggestion.params.shift_remove(argument);
        }
        "tasks_step".clone_into(&mut suggestion.target);
        return Some(suggestion.with("action", action));
    }
    replacement(&suggestion, listed)
}

/// A listed view that shows what the suggested one would.
fn replacement(suggestion: &Suggestion, listed: &ToolNames) -> Option<Suggestion> {
    let views: &[&str] = match suggestion.target.as_str() {
        "tasks_mirror" | "tasks_snapshot" => &["tasks_radar", "tasks_snapshot"],
        "tasks_context" | "tasks_radar" => &["tasks_snapshot"],
        _ => &[],
    };
    let about = ["task", "plan", "target"].iter().any(|key| suggestion.params.contains_key(*key));
    let view = views.iter().find(|view| about && listed.contains(**view))?;
    let mut replaced = suggestion.clone();
    replaced.target = (*view).to_owned();
    replaced.params.insert("read_only".to_owned(), true.into());
    Some(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;

    fn unlisted(registry: &Registry, text: &str, toolset: Toolset) -> Vec<String> {
        let listed = registry.names(toolset);
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let named = words.filter(|word| registry.get(word).is_some() && !listed.contains(word));
        named.map(str::to_owned).collect()
    }

    #[test]
    fn every_code_is_explained_in_words_of_the_toolset() {
        let registry = Registry::default();
        for toolset in Toolset::ALL {
            for explanation in explain::all() {
                let remedy = registry.in_toolset(explanation.remedy, toolset);
                let left = unlisted(&registry, &remedy, toolset);
                assert_eq!(left, Vec::<String>::new(), "{} {toolset}", explanation.code);
            }
            for row in registry.rows() {
                let text = registry.in_toolset(&format!("Call {}, then.", row.name), toolset);
                assert_eq!(unlisted(&registry, &text, toolset), Vec::<String>::new(), "{text}");
            }
        }
        let note = registry.in_toolset("Use tasks_note.", Toolset::Daily);
        assert_eq!(note, "Use tasks_step (action note).");
        assert_eq!(registry.in_toolset("Use tasks_note.", Toolset::Full), "Use tasks_note.");
    }

    #[test]
    fn every_stand_in_exists() {
        let registry = Registry::default();
        for row in registry.rows() {
            for other in stand_ins(row.name) {
                assert!(registry.get(other.tool).is_some(), "{}", other.tool);
            }
        }
    }
}
