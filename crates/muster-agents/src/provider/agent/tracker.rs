//! The calls of one turn, whatever order an agent reports them in: each is proposed once, asked
//! about in between, started once and completed once (RUNS-PROV-1, RUNS-ORD-2).
//!
//! ```text
//!   proposed ──► asked ──► started ──► completed
//!      │           └─ denied ───────────►│
//!      └──────────► started              │   what an agent leaves out is filled in,
//!      └────────────────────────────────►│   what it repeats is dropped
//! ```

use std::collections::BTreeMap;

use muster_core::run::{
    approval::{Resolution, Verdict},
    event::{ToolError, ToolResult},
    provider::{ProviderEvent, ProviderTool},
};

use super::prose;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Proposed,
    Asked,
    Started,
    Completed,
}

/// A question about a call.
pub(in crate::provider) struct CallQuestion {
    /// The agent's id of the question.
    pub(in crate::provider) question: String,
    pub(in crate::provider) tool: ProviderTool,
    /// Additional context from the agent.
    pub(in crate::provider) context: Option<String>,
    /// Whether other arguments are possible.
    pub(in crate::provider) can_modify: bool,
}

pub(in crate::provider) struct CallEnd {
    pub(in crate::provider) result: ToolResult,
    pub(in crate::provider) error: Option<ToolError>,
    /// Whether it was executed at all.
    pub(in crate::provider) ran: bool,
}

/// The calls of a turn.
#[derive(Default)]
pub(in crate::provider) struct Tracker {
    calls: BTreeMap<String, Stage>,
    /// Questions that wait for an answer, with their calls.
    asked: BTreeMap<String, String>,
}

type Events = Vec<ProviderEvent>;

impl Tracker {
    /// A turn begins. Late updates for calls of the previous turn are dropped from now on.
    pub(in crate::provider) fn begin(&mut self) {
        self.calls.clear();
        self.asked.clear();
    }

    /// A call that is recorded elsewhere: everything about it is dropped (RUNS-TOOL-3).
    pub(in crate::provider) fn hide(&mut self, id: &str) {
        self.calls.entry(id.to_owned()).or_insert(Stage::Completed);
    }

    /// Whether a call is known.
    pub(in crate::provider) fn knows(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// A call is known.
    pub(in crate::provider) fn proposed(&mut self, tool: ProviderTool) -> Events {
        if self.knows(&tool.id) {
            return Vec::new();
        }
        self.calls.insert(tool.id.clone(), Stage::Proposed);
        vec![ProviderEvent::ToolProposed(tool)]
    }

    /// The agent asks before it makes a call. Nothing if no decision is needed: the call is over
    /// already.
    pub(in crate::provider) fn asked(&mut self, asking: CallQuestion) -> Events {
        let CallQuestion { question: id, tool, context, can_modify } = asking;
        let mut events = self.proposed(tool.clone());
        let Some(stage) = self.calls.get_mut(&tool.id) else { return events };
        if *stage == Stage::Completed || self.asked.contains_key(&id) {
            return events;
        }
        *stage = Stage::Asked;
        self.asked.insert(id.clone(), tool.id.clone());
        events.push(ProviderEvent::ApprovalRequested { id, tool, context, can_modify });
        events
    }

    /// A question was decided. `None` if it was not pending.
    pub(in crate::provider) fn decided(
        &mut self,
        question: &str,
        resolution: &Resolution,
    ) -> Option<Events> {
        let id = self.asked.remove(question)?;
        let stage = self.calls.get_mut(&id)?;
        Some(match resolution.status {
            Verdict::Approved | Verdict::Modified => {
                *stage = Stage::Started;
                vec![ProviderEvent::ToolStarted { id }]
            }
            Verdict::Denied => {
                *stage = Stage::Completed;
                let cause = resolution.reason.as_deref().unwrap_or("by the user");
                let error = Some(prose::fault(&format!("denied: {cause}")));
                vec![ProviderEvent::ToolCompleted { id, result: ToolResult::default(), error }]
            }
        })
    }

    /// The agent no longer waits for an answer.
    pub(in crate::provider) fn withdrawn(&mut self, question: &str) -> Events {
        let Some(call) = self.asked.remove(question) else { return Vec::new() };
        self.calls.insert(call, Stage::Completed);
        vec![ProviderEvent::ApprovalWithdrawn { id: question.to_owned() }]
    }

    /// A call is being executed. That cannot be while its question is pending.
    pub(in crate::provider) fn started(&mut self, id: &str) -> Events {
        match self.calls.get_mut(id) {
            Some(stage) if *stage == Stage::Proposed => {
                *stage = Stage::Started;
                vec![ProviderEvent::ToolStarted { id: id.to_owned() }]
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// A call has its outcome.
    pub(in crate::provider) fn completed(&mut self, id: &str, ended: CallEnd) -> Events {
        let Some(stage) = self.calls.get_mut(id) else { return Vec::new() };
        let CallEnd { result, error, ran } = ended;
        let before = std::mem::replace(stage, Stage::Completed);
        let mut events = Vec::new();
        match before {
            Stage::Completed => return events,
            Stage::Proposed if ran => events.push(ProviderEvent::ToolStarted { id: id.to_owned() }),
            Stage::Asked => self.asked.retain(|_, call| call != id),
            Stage::Proposed | Stage::Started => {}
        }
        events.push(ProviderEvent::ToolCompleted { id: id.to_owned(), result, error });
        events
    }

    /// The turn is over: calls without an outcome are closed. Those with a pending question are
    /// closed by the driver, which knows why the turn ended.
    pub(in crate::provider) fn end(&mut self) -> Events {
        let mut events = Vec::new();
        for (id, stage) in &mut self.calls {
            match std::mem::replace(stage, Stage::Completed) {
                Stage::Completed | Stage::Asked => {}
                Stage::Proposed | Stage::Started => {
                    let error = Some(prose::fault("the turn ended before it"));
                    let id = id.clone();
                    let result = ToolResult::default();
                    events.push(ProviderEvent::ToolCompleted { id, result, error });
                }
            }
        }
        self.asked.clear();
        events
    }
}

#[cfg(test)]
mod tests {
    use muster_core::run::{
        approval::{Resolution, Verdict},
        edge::ActorKind,
        provider::{ProviderEvent, ProviderTool},
    };

    use super::{CallEnd, CallQuestion, Events, Tracker, prose};

    fn tool(id: &str) -> ProviderTool {
        ProviderTool { id: id.to_owned(), name: "shell".to_owned(), args: serde_json::Map::new() }
    }

    fn asking(question: &str, id: &str) -> CallQuestion {
        CallQuestion {
            question: question.to_owned(),
            tool: tool(id),
            context: None,
            can_modify: false,
        }
    }

    fn ended(ok: bool, ran: bool) -> CallEnd {
        CallEnd { result: prose::outcome(ok, "out"), error: None, ran }
    }

    fn resolution(status: Verdict) -> Resolution {
        let reason = Some("too risky".to_owned());
        Resolution { status, modified_args: None, reason, by: ActorKind::User, rule: None }
    }

    /// Abbreviated names of events.
    fn names(events: &Events) -> String {
        let name = |event: &ProviderEvent| match event {
            ProviderEvent::ToolProposed(_) => 'p',
            ProviderEvent::ApprovalRequested { .. } => 'a',
            ProviderEvent::ApprovalWithdrawn { .. } => 'w',
            ProviderEvent::ToolStarted { .. } => 's',
            ProviderEvent::ToolCompleted { .. } => 'c',
            ProviderEvent::SessionStarted { .. }
            | ProviderEvent::Delta { .. }
            | ProviderEvent::ThoughtDelta { .. }
            | ProviderEvent::Thought { .. }
            | ProviderEvent::Plan { .. }
            | ProviderEvent::Usage { .. }
            | ProviderEvent::Progress { .. }
            | ProviderEvent::Beat { .. }
            | ProviderEvent::Log { .. }
            | ProviderEvent::TurnEnded(_) => '?',
        };
        events.iter().map(name).collect()
    }

    #[test]
    fn runs_prov_1_what_is_left_out_is_filled_in_and_what_is_repeated_is_dropped() {
        let mut calls = Tracker::default();
        assert_eq!(names(&calls.proposed(tool("1"))), "p");
        assert_eq!(names(&calls.proposed(tool("1"))), "");
        assert_eq!(names(&calls.completed("1", ended(true, true))), "sc");
        assert_eq!(names(&calls.completed("1", ended(true, true))), "");
        assert_eq!(names(&calls.started("1")), "");
        assert_eq!(names(&calls.proposed(tool("1"))), "");
        assert_eq!(names(&calls.completed("never heard of", ended(true, true))), "");
        assert_eq!(names(&calls.end()), "");
    }

    #[test]
    fn a_call_starts_when_its_question_is_answered_and_not_before() {
        let mut calls = Tracker::default();
        assert_eq!(names(&calls.asked(asking("q", "1"))), "pa");
        assert_eq!(names(&calls.asked(asking("q", "1"))), "");
        assert_eq!(names(&calls.started("1")), "");
        let yes = resolution(Verdict::Approved);
        assert_eq!(names(&calls.decided("q", &yes).unwrap()), "s");
        assert!(calls.decided("q", &yes).is_none());
        assert_eq!(names(&calls.started("1")), "");
        assert_eq!(names(&calls.completed("1", ended(false, true))), "c");
    }

    #[test]
    fn a_denied_call_is_completed_with_the_reason_and_never_started() {
        let mut calls = Tracker::default();
        calls.asked(asking("q", "1"));
        let events = calls.decided("q", &resolution(Verdict::Denied)).unwrap();
        let ProviderEvent::ToolCompleted { error, result, .. } = &events[0] else {
            panic!("{events:?}");
        };
        assert_eq!(error.as_ref().unwrap().message, "denied: too risky");
        assert!(!result.ok);
        assert_eq!(names(&calls.completed("1", ended(false, false))), "");
    }

    #[test]
    fn the_end_of_a_turn_closes_what_is_open_and_what_comes_later_is_dropped() {
        let mut calls = Tracker::default();
        calls.proposed(tool("1"));
        calls.started("1");
        calls.asked(asking("q", "2"));
        calls.hide("3");
        assert_eq!(names(&calls.proposed(tool("3"))), "");
        assert_eq!(names(&calls.end()), "c");
        assert_eq!(names(&calls.completed("1", ended(true, true))), "");
        calls.begin();
        assert_eq!(names(&calls.completed("2", ended(true, true))), "");
        assert_eq!(names(&calls.withdrawn("q")), "");
        assert_eq!(names(&calls.asked(asking("q", "4"))), "pa");
        assert_eq!(names(&calls.withdrawn("q")), "w");
        assert_eq!(names(&calls.completed("4", ended(true, true))), "");
    }
}
