//! Approvals of all runs, and what else waits for a person.

use std::sync::Arc;

use axum::extract::State;
use muster_api::runs::{
    ApprovalsRequest,
    answers::{
        AllowProposalAnswer, AllowRuleGone, AllowRulesAnswer, ApprovalsAnswer, AttentionAnswer,
        ResolvedAnswer,
    },
    request::{self, ResolutionInput},
    worktrees::PresentFile,
};
use muster_core::run::{
    approval::Verdict,
    command::CallFiles,
    id::{AllowRuleId, ApprovalId, RunId},
};

use super::request::{AskedRun, RunsReply, Sender, ask, tell};
use crate::{
    request::{Ids, Params, parameters, words},
    server_state::ServerState,
};

/// Which approvals are listed.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Pending,
    All,
}

impl Wanted {
    const ALL: [Self; 2] = [Self::Pending, Self::All];

    fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::All => "all",
        }
    }
}

words! { Wanted: Wanted::ALL, Wanted::word; }

parameters! {
    pub(super) struct ApprovalsQuery {
        "runId" run: Option<RunId>,
        "status" status: Option<Wanted>,
    }
}

parameters! {
    pub(super) struct RulesQuery {
        "runId" run: Option<RunId>,
    }
}

/// Lists approvals, oldest first.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    Params(query): Params<ApprovalsQuery>,
) -> RunsReply<ApprovalsAnswer> {
    let answered = query.status == Some(Wanted::All);
    let request = ApprovalsRequest { run: query.run, answered, rights: sender.rights() };
    tell(&site, move |app| app.runs().approvals(&request)).await
}

/// Answers an approval.
pub(super) async fn resolve(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    Ids(approval): Ids<ApprovalId>,
    asked: AskedRun<ResolutionInput>,
) -> RunsReply<ResolvedAnswer> {
    let resolution = request::resolution(asked.body.fields)?;
    if resolution.input.rule.is_some() {
        sender.may_rule()?;
    }
    let found = ask(&site, move |app| app.runs().run_of(approval, None)).await;
    let caller = sender.caller();
    let files = match (&found, site.app.driver()) {
        (Ok(run), Some(driver)) if resolution.input.status != Some(Verdict::Denied) => {
            driver.files_for_answer(*run, approval).await
        }
        (_, _) => CallFiles::default(),
    };
    let once = asked.once;
    tell(&site, move |app| app.runs().resolve(approval, resolution, files, (once, &caller))).await
}

/// Shows the rules that an approval could become.
pub(super) async fn proposal(
    State(site): State<Arc<ServerState>>,
    Ids(approval): Ids<ApprovalId>,
) -> RunsReply<AllowProposalAnswer> {
    tell(&site, move |app| app.runs().allow_proposal(approval)).await
}

/// Lists allow rules, oldest first.
pub(super) async fn rules(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<RulesQuery>,
) -> RunsReply<AllowRulesAnswer> {
    tell(&site, move |app| app.runs().allow_rules(query.run)).await
}

/// Removes an allow rule.
pub(super) async fn remove_rule(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
    Ids(rule): Ids<AllowRuleId>,
) -> RunsReply<AllowRuleGone> {
    let caller = sender.caller();
    tell(&site, move |app| app.runs().remove_allow_rule(rule, &caller)).await
}

/// Reads the file that an approval would overwrite.
pub(super) async fn present_file(
    State(site): State<Arc<ServerState>>,
    Ids(approval): Ids<ApprovalId>,
) -> RunsReply<PresentFile> {
    tell(&site, move |app| app.runs().present_file(approval)).await
}

/// Lists what waits for a person, oldest first.
pub(super) async fn attention(
    State(site): State<Arc<ServerState>>,
    sender: Sender,
) -> RunsReply<AttentionAnswer> {
    tell(&site, move |app| app.runs().attention(&sender.rights())).await
}
