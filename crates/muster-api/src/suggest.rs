//! Keeps suggestions callable and, where possible, inside the listed toolset (TASKS-SET-3).

use serde_json::{Value, json};

use crate::{Registry, Suggestion, Toolset};

/// Added to a suggestion whose tool the chosen toolset does not list.
const NOT_LISTED: &str = " (listed in toolset full)";

impl Registry {
    /// Replaces suggestions of tools that are not listed by listed ones where one serves as well, and
    /// leaves out those that nothing can serve.
    pub(crate) fn fit_suggestions(
        &self,
        suggestions: Vec<Suggestion>,
        toolset: Toolset,
    ) -> Vec<Suggestion> {
        suggestions.into_iter().filter_map(|suggestion| self.fit(suggestion, toolset)).collect()
    }

    fn fit(&self, mut suggestion: Suggestion, toolset: Toolset) -> Option<Suggestion> {
        if self.lists(&suggestion.target, toolset) {
            return Some(suggestion);
        }
        if let Some(listed) = self.replacement(&suggestion, toolset) {
            return Some(listed);
        }
        self.get(&suggestion.target)?;
        suggestion.reason.push_str(NOT_LISTED);
        Some(suggestion)
    }

    fn lists(&self, name: &str, toolset: Toolset) -> bool {
        self.get(name).is_some_and(|row| row.toolset <= toolset)
    }

    /// A view that is listed and shows what the suggested one would.
    fn replacement(&self, suggestion: &Suggestion, toolset: Toolset) -> Option<Suggestion> {
        let views: &[&str] = match suggestion.target.as_str() {
            "tasks_mirror" | "tasks_snapshot" => &["tasks_radar", "tasks_snapshot"],
            "tasks_context" | "tasks_radar" => &["tasks_snapshot"],
            _ => &[],
        };
        let about =
            ["task", "plan", "target"].iter().any(|key| suggestion.params.contains_key(*key));
        let view = views.iter().find(|view| about && self.lists(view, toolset))?;
        let mut listed = suggestion.clone();
        listed.target = (*view).to_owned();
        listed.params.insert("read_only".to_owned(), Value::Bool(true));
        listed.params.retain(|_, value| *value != json!(null));
        Some(listed)
    }
}
