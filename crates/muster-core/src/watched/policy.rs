//! What of a report may be kept (HOST-WATCH-6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentReport, ReportFact, WaitReason};

/// How much of the sessions of a project is watched.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WatchPolicy {
    /// Everything that hooks report.
    #[default]
    Full,
    /// Names, times, todo lists and states.
    Titles,
    /// Nothing.
    Off,
}

impl WatchPolicy {
    pub const ALL: [Self; 3] = [Self::Full, Self::Titles, Self::Off];

    /// The word in settings and project files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Titles => "titles",
            Self::Off => "off",
        }
    }

    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.word() == word)
    }
}

impl AgentReport {
    /// The report without what a policy keeps out; `None` if nothing is left.
    #[must_use]
    pub fn under(mut self, policy: WatchPolicy) -> Option<Self> {
        match policy {
            WatchPolicy::Off => return None,
            WatchPolicy::Titles => {
                self.facts = self.facts.into_iter().filter_map(name_only).collect();
            }
            WatchPolicy::Full => {}
        }
        (!self.facts.is_empty()).then_some(self)
    }
}

/// A fact with its names, and without what was said and done.
fn name_only(fact: ReportFact) -> Option<ReportFact> {
    Some(match fact {
        ReportFact::Prompted { .. } => ReportFact::Prompted { text: None },
        ReportFact::Called(mut called) => {
            called.arguments.clear();
            called.doing.clone_from(&called.tool);
            ReportFact::Called(called)
        }
        ReportFact::Returned(mut returned) => {
            returned.output = None;
            ReportFact::Returned(returned)
        }
        ReportFact::Waits { reason, call_id, tool, .. } => {
            let text = match (reason, &tool) {
                (WaitReason::Permission, Some(tool)) => tool.clone(),
                (WaitReason::Permission, None) => "a permission".to_owned(),
                (WaitReason::Question, _) => "a question".to_owned(),
                (WaitReason::Plan, _) => "a plan to approve".to_owned(),
                (WaitReason::Prompt, _) => "your next message".to_owned(),
            };
            ReportFact::Waits { reason, text, call_id, tool }
        }
        ReportFact::Said { .. } => return None,
        other @ (ReportFact::Started
        | ReportFact::Titled { .. }
        | ReportFact::ListChanged { .. }
        | ReportFact::WentOn
        | ReportFact::Subagent { .. }
        | ReportFact::Compacting
        | ReportFact::TurnEnded { .. }
        | ReportFact::Ended { .. }
        | ReportFact::Lost { .. }) => other,
    })
}
