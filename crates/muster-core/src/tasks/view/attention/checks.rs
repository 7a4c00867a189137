//! What the verdicts of checks ask a person for.

use std::collections::BTreeSet;

use super::{WorkAction, WorkAttention, WorkAttentionKind};
use crate::{
    checks::{
        finding::CheckFinding,
        ledger::{CheckLedger, LedgerEntry},
        project::{AcceptedCheck, WorkspaceProjects},
        record::CheckedWork,
        verdict::Verdict,
    },
    tasks::{
        TaskDocs, TaskLookup,
        check_gate::CheckWaiver,
        entity::{Task, TaskStatus},
        id::{TaskId, WorkspaceId},
        lookup,
        step::Step,
        view::proof::findings,
    },
};

/// What the checks of a workspace wait for. Reads the ledgers of accepted checks, and of work only
/// what a failed run was asked for.
pub fn of_checks(docs: &TaskDocs, workspace: &WorkspaceId) -> TaskLookup<Vec<WorkAttention>> {
    let Some(projects) = lookup::projects(docs)? else { return Ok(Vec::new()) };
    let mut names: Vec<&String> =
        projects.accepted.iter().flat_map(|project| project.checks.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut items = Vec::new();
    for name in names {
        let ledger = lookup::check_ledger(docs, name)?;
        let reader = LedgerReader { docs, workspace, projects, ledger: &ledger };
        items.extend(reader.failed()?);
        items.extend(reader.doubtful()?);
        items.extend(reader.flaky());
    }
    Ok(items)
}

/// The verdicts of one check.
struct LedgerReader<'a> {
    docs: &'a TaskDocs,
    workspace: &'a WorkspaceId,
    projects: &'a WorkspaceProjects,
    ledger: &'a CheckLedger,
}

impl<'a> LedgerReader<'a> {
    /// The definition that the verdict is about, if it is in force.
    fn accepted(&self, entry: &LedgerEntry) -> Option<&'a AcceptedCheck> {
        let known = self.projects.accepted.iter();
        let mut known = known.filter_map(|project| project.checks.get(&self.ledger.check));
        known.find(|check| check.definition == entry.definition)
    }

    fn is_in_force(&self, entry: &LedgerEntry) -> bool {
        self.accepted(entry).is_some()
    }

    /// The newest verdict for each piece of work, if it is not a pass.
    fn failed(&self) -> TaskLookup<Vec<WorkAttention>> {
        let mut seen: BTreeSet<CheckedWork> = BTreeSet::new();
        let mut places = BTreeSet::new();
        let mut items = Vec::new();
        for (at, entry) in self.ledger.entries.iter().enumerate().rev() {
            let Some(work) = entry.asked_for else { continue };
            let is_failure =
                matches!(entry.verdict, Verdict::Failed | Verdict::TimedOut | Verdict::Empty);
            let says_something = is_failure || entry.verdict.is_pass();
            if !says_something || !seen.insert(work) || !is_failure || !self.is_in_force(entry) {
                continue;
            }
            let Some((task, step)) = self.place(work)? else { continue };
            let is_new = places.insert((task.id, step.map(|step| step.id)));
            if is_new && !self.is_waived(task, step, entry) && !self.is_mended(at)? {
                items.push(self.failure(task, step, entry));
            }
        }
        Ok(items)
    }

    /// The newest pass for each open task, if it differs from earlier ones in a way that a person
    /// should look at (PROOF-GUARD-1).
    fn doubtful(&self) -> TaskLookup<Vec<WorkAttention>> {
        let mut seen: BTreeSet<TaskId> = BTreeSet::new();
        let mut items = Vec::new();
        for entry in self.ledger.entries.iter().rev().filter(|entry| entry.verdict.is_pass()) {
            let Some(work) = entry.asked_for.filter(|work| seen.insert(work.task)) else {
                continue;
            };
            let Some(check) = self.accepted(entry) else { continue };
            let task = lookup::find_task(self.docs, work.task)?;
            let Some(task) = task.filter(|task| task.meta.status != TaskStatus::Done) else {
                continue;
            };
            let moment = (task.meta.created_at, entry.run);
            let found = findings::of_pass(self.docs, check, self.ledger, moment)?;
            items.extend(self.doubt(task, entry, &found));
        }
        Ok(items)
    }

    fn doubt(
        &self,
        task: &Task,
        entry: &LedgerEntry,
        found: &[CheckFinding],
    ) -> Option<WorkAttention> {
        let first = &found.first()?.message;
        let more = match found.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let check = &self.ledger.check;
        let title = format!("{check} passed, but {first}{more}");
        let advice = "Look at the pass before the task is done; it counts as it is.";
        let kind = WorkAttentionKind::DoubtfulPass;
        let actions = [WorkAction::Run];
        let item = WorkAttention::new(kind, self.workspace, (&title, entry.at), (advice, &actions));
        Some(item.on(task, None).about(check, Some(entry.run)))
    }

    /// The work in progress that a run was asked for and that still has to pass the check.
    fn place(&self, work: CheckedWork) -> TaskLookup<Option<(&'a Task, Option<&'a Step>)>> {
        let check = &self.ledger.check;
        let task = lookup::find_task(self.docs, work.task)?;
        let Some(task) = task.filter(|task| task.meta.status != TaskStatus::Done) else {
            return Ok(None);
        };
        let waits = |step: &&Step| !step.is_closed() && step.checks.contains(check);
        if let Some(id) = work.step {
            let step = task.steps.by_id(id).filter(waits);
            return Ok(step.map(|step| (task, Some(step))));
        }
        if let Some(step) = task.steps.iter().find(waits) {
            return Ok(Some((task, Some(step))));
        }
        let is_required = self
            .projects
            .accepted
            .iter()
            .any(|project| project.checks.get(check).is_some_and(|accepted| accepted.required));
        Ok((is_required || task.checks.contains(check)).then_some((task, None)))
    }

    fn is_waived(&self, task: &Task, step: Option<&Step>, entry: &LedgerEntry) -> bool {
        let own = step.into_iter().flat_map(|step| &step.check_waivers);
        let fits = |waiver: &CheckWaiver| {
            let is_for_files = waiver.scope.as_ref().is_none_or(|scope| *scope == entry.scope);
            waiver.check == self.ledger.check && is_for_files
        };
        own.chain(&task.check_waivers).any(fits)
    }

    /// Whether the check passed later in the same directory.
    fn is_mended(&self, at: usize) -> TaskLookup<bool> {
        let failed = &self.ledger.entries[at];
        let Some(failed) = lookup::check_run(self.docs, failed.run)? else { return Ok(false) };
        for later in self.ledger.entries[at..].iter().filter(|entry| entry.verdict.is_pass()) {
            let passed = lookup::check_run(self.docs, later.run)?;
            if passed.is_some_and(|passed| passed.directory == failed.directory) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn failure(&self, task: &Task, step: Option<&Step>, entry: &LedgerEntry) -> WorkAttention {
        let check = &self.ledger.check;
        let failed = entry.counts.map_or(0, |counts| counts.failed);
        let tests = match failed {
            0 => String::new(),
            1 => ", 1 test".to_owned(),
            many => format!(", {many} tests"),
        };
        let what = match entry.verdict {
            Verdict::TimedOut => "timed out",
            Verdict::Empty => "ran no test",
            Verdict::Failed | Verdict::Passed | Verdict::Moved | Verdict::Interrupted => "failed",
        };
        let title = format!("{check} {what}{tests}");
        let advice = "Let an agent mend it, run the check again, or set it aside.";
        let actions = [WorkAction::Run, WorkAction::Waive];
        let kind = WorkAttentionKind::CheckFailed;
        let item = WorkAttention::new(kind, self.workspace, (&title, entry.at), (advice, &actions));
        item.on(task, step).about(check, Some(entry.run))
    }

    /// Whether the newest verdict differs from another one on the same files (PROOF-RUN-7).
    fn flaky(&self) -> Option<WorkAttention> {
        let last = self.ledger.last().filter(|last| self.is_in_force(last))?;
        let flaky = self.ledger.is_flaky(&last.definition, &last.scope)?;
        let is_same = |entry: &&LedgerEntry| {
            (&entry.definition, &entry.scope) == (&last.definition, &last.scope)
        };
        let mut same = self.ledger.entries.iter().filter(is_same);
        let first = same.clone().find(|entry| entry.verdict.is_pass());
        let failed = same.find(|entry| entry.verdict == Verdict::Failed);
        let since = first.zip(failed).map_or(last.at, |(one, other)| one.at.max(other.at));
        let check = &self.ledger.check;
        let times =
            |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let title = format!(
            "{check} is flaky: on the same files it passed {} and failed {}",
            times(flaky.passed),
            times(flaky.failed)
        );
        let advice = "Have the check or what it tests mended; a pass still counts.";
        let kind = WorkAttentionKind::FlakyCheck;
        let actions = [WorkAction::Run];
        let item = WorkAttention::new(kind, self.workspace, (&title, since), (advice, &actions));
        let item = item.about(check, Some(last.run));
        Some(WorkAttention { task_id: last.asked_for.map(|work| work.task), ..item })
    }
}
