//! Approvals of all runs, and everything else that waits for a person.

use std::collections::BTreeMap;

use muster_core::{
    Json, ListQuery,
    access::AccessRights,
    answers::CallKey,
    run::{
        RunAggregate, RunDocument,
        approval::{Approval, Verdict},
        command::{CallFiles, Resolve},
        id::{ApprovalId, RunId},
        lookup,
        view::attention::{self, Attention},
    },
};
use muster_store::CatalogueQuery;

use super::{
    RunDesk, RunDriver, RunTold,
    answers::{ApprovalRow, ApprovalsAnswer, AttentionAnswer},
    change::RunChangeRequest,
    fault::{RunCode, RunFault},
    request::ResolutionBody,
};
use crate::Caller;

/// Which approvals are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalsRequest {
    pub run: Option<RunId>,
    /// Also answered ones.
    pub answered: bool,
    /// Only those that this caller may see.
    pub rights: AccessRights,
}

/// Whether runs are open to a caller; each is looked up once.
struct OpenRuns<'a> {
    runs: RunDesk<'a>,
    rights: &'a AccessRights,
    known: BTreeMap<RunId, bool>,
}

impl<'a> OpenRuns<'a> {
    fn to(runs: RunDesk<'a>, rights: &'a AccessRights) -> Self {
        Self { runs, rights, known: BTreeMap::new() }
    }

    fn contains(&mut self, run: RunId) -> RunTold<bool> {
        if let Some(known) = self.known.get(&run) {
            return Ok(*known);
        }
        let is_open = self.runs.is_open_to(self.rights, run)?;
        self.known.insert(run, is_open);
        Ok(is_open)
    }
}

impl RunDesk<'_> {
    /// Approvals, oldest first.
    pub fn approvals(self, request: &ApprovalsRequest) -> RunTold<Json> {
        let found = match (request.run, request.answered) {
            (Some(run), answered) => self.approvals_of(run, answered)?,
            (None, false) => self.pending()?,
            (None, true) => {
                let runs = self.all()?.into_iter();
                let lists: RunTold<Vec<_>> = runs.map(|run| self.approvals_of(run, true)).collect();
                lists?.into_iter().flatten().collect()
            }
        };
        let mut open = OpenRuns::to(self, &request.rights);
        let mut seen = Vec::with_capacity(found.len());
        for approval in found {
            if open.contains(approval.run_id)? {
                seen.push(approval);
            }
        }
        let mut found = seen;
        found.sort_by_key(|approval| (approval.requested_at, approval.approval_id));
        let row = |approval: Approval| ApprovalRow { run_id: approval.run_id, approval };
        let approvals = found.into_iter().map(row).collect();
        Ok(Json::of(&ApprovalsAnswer { approvals }))
    }

    fn approvals_of(self, run: RunId, answered: bool) -> RunTold<Vec<Approval>> {
        self.read(run, |docs| {
            lookup::run(docs)?;
            if !answered {
                return Ok(lookup::pending_approvals(docs)?.into_iter().cloned().collect());
            }
            let documents = docs.list(&ListQuery::of("approval"))?;
            Ok(documents.into_iter().filter_map(RunDocument::as_approval).cloned().collect())
        })
    }

    fn pending(self) -> RunTold<Vec<Approval>> {
        let documents = self.catalogued("approval")?;
        Ok(documents.iter().filter_map(RunDocument::as_approval).cloned().collect())
    }

    fn catalogued(self, kind: &'static str) -> RunTold<Vec<RunDocument>> {
        let query = CatalogueQuery { kind, below: None, limit: None };
        let found = self.engine().catalogue::<RunAggregate>(&query)?;
        Ok(found.into_iter().map(|(_, document)| document).collect())
    }

    /// What waits for a person in the runs and workspaces of a caller, oldest first.
    pub fn attention(self, rights: &AccessRights) -> RunTold<Json> {
        let mut items: Vec<Attention> = Vec::new();
        for kind in ["approval", "node", "run"] {
            for document in self.catalogued(kind)? {
                if let RunDocument::Run(run) = &document {
                    items.extend(attention::of_run(run));
                }
                items.extend(document.as_node().map(attention::of_node).into_iter().flatten());
                items.extend(document.as_approval().and_then(attention::of_approval));
            }
        }
        let mut open = OpenRuns::to(self, rights);
        let mut seen = Vec::with_capacity(items.len());
        for item in items {
            if open.contains(item.run_id)? {
                seen.push(item);
            }
        }
        let items = seen;
        let mut work = self.0.work().attention()?;
        work.retain(|item| rights.workspaces.admits(item.workspace.as_str()));
        let of_server = rights.workspaces.is_everything();
        let driver = self.0.driver().filter(|_| of_server);
        let settings_fault = driver.and_then(RunDriver::settings_fault);
        Ok(Json::of(&AttentionAnswer { items: attention::sorted(items), work, settings_fault }))
    }

    /// Answers an approval; the first answer counts (RUNS-APP-3).
    pub fn resolve(
        self,
        approval: ApprovalId,
        body: ResolutionBody,
        files: CallFiles,
        (once, caller): (Option<CallKey>, &Caller),
    ) -> RunTold<Json> {
        let ResolutionBody { input, expected_run, prefix } = body;
        let missing = || {
            let detail = "status is required: approved, denied or modified";
            RunFault::new(RunCode::MissingField, detail).at(format!("{prefix}status"))
        };
        let run = self.run_of(approval, expected_run.as_deref())?;
        let verdict = input.status.ok_or_else(missing)?;
        let rule = match input.rule {
            Some(rule) if verdict == Verdict::Approved => {
                let rule = self.rule_for(run, approval, rule);
                Some(rule.map_err(|fault| fault.below(&prefix))?)
            }
            Some(_) => {
                let detail = "a rule can only be made with status approved";
                return Err(RunFault::bad_value(format!("{prefix}rule"), detail));
            }
            None => None,
        };
        let resolve = Resolve {
            approval,
            verdict,
            modified_args: input.modified_args,
            reason: input.reason,
            rule: rule.as_ref().map(|rule| rule.note.clone()),
            files,
        };
        let made = rule.as_ref().map(|rule| rule.note.id);
        let make = rule.and_then(|rule| rule.make).map(|make| (make, caller.facts()));
        let change = RunChangeRequest::resolve(run, resolve, &prefix).once(once).with_rule(make);
        let answer = self.carry_out(change)?;
        if let (Some(rule), Some(driver)) = (made, self.0.driver()) {
            driver.answer_pending(rule)?;
        }
        Ok(answer)
    }

    /// The run that an approval belongs to.
    pub fn run_of(self, approval: ApprovalId, expected: Option<&str>) -> RunTold<RunId> {
        let unknown =
            || RunFault::new(RunCode::UnknownApproval, format!("unknown approval {approval}"));
        let has = |run: RunId| {
            let found = self.read(run, |docs| Ok(lookup::find_approval(docs, approval)?.is_some()));
            found.map(|found| found.then_some(run))
        };
        if let Some(expected) = expected {
            let Ok(run) = expected.parse::<RunId>() else { return Err(unknown().at("runId")) };
            return has(run)?.ok_or_else(|| unknown().at("runId"));
        }
        let pending = self.pending()?;
        if let Some(found) = pending.iter().find(|pending| pending.approval_id == approval) {
            return Ok(found.run_id);
        }
        for run in self.all()? {
            if let Some(run) = has(run)? {
                return Ok(run);
            }
        }
        Err(unknown())
    }
}
