//! Keeps suggestions callable and, where possible, inside the listed toolset (TASKS-SET-3).

use std::collections::BTreeSet;

use crate::{Registry, Suggestion, Toolset};

/// Added to a suggestion whose tool the chosen toolset does not list.
const NOT_LISTED: &str = " (listed in toolset full)";

pub(crate) type ToolNames = BTreeSet<&'static str>;

impl Registry {
    /// The tools that a toolset lists, and all tools.
    pub(crate) fn names(&self, toolset: Toolset) -> (ToolNames, ToolNames) {
        let listed = self.listed(toolset).map(|row| row.name).collect();
        (listed, self.rows().iter().map(|row| row.name).collect())
    }
}

/// Replaces suggestions of unlisted tools by listed ones that serve as well, and
/// drops those without a replacement.
pub(crate) fn fit(
    suggestions: Vec<Suggestion>,
    listed: &ToolNames,
    known: &ToolNames,
) -> Vec<Suggestion> {
    suggestions.into_iter().filter_map(|suggestion| fit_one(suggestion, listed, known)).collect()
}

fn fit_one(
    mut suggestion: Suggestion,
    listed: &ToolNames,
    known: &ToolNames,
) -> Option<Suggestion> {
    if listed.contains(suggestion.target.as_str()) {
        return Some(suggestion);
    }
    if let Some(replaced) = replacement(&suggestion, listed) {
        return Some(replaced);
    }
    if !known.contains(suggestion.target.as_str()) {
        return None;
    }
    suggestion.reason.push_str(NOT_LISTED);
    Some(suggestion)
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
