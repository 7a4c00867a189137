//! Runs of checks: the newest ones, one of them, its output while it runs, and ending it.

use muster_agents::checks::{CheckPhase, ShownOutput};
use muster_core::{
    Author, Timestamp,
    checks::{
        record::{CheckRecord, OutputRecord},
        verdict::{TestCounts, Verdict},
    },
    tasks::id::{CheckRunId, WorkspaceId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WorkDesk;
use crate::{
    Caller, person_name,
    runs::{RunCode, RunFault, RunTold},
};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct CheckRunsAnswer {
    /// Newest first.
    pub runs: Vec<CheckRunRow>,
}

/// A run of a check in a list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckRunRow {
    pub id: CheckRunId,
    /// Name of the check.
    pub check: String,
    /// Absent while it is unfinished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// How far it is; absent once it has a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<CheckPhase>,
    #[serde(rename = "requested_at_ms")]
    pub requested_at: Timestamp,
    #[serde(default, rename = "started_at_ms", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Absent while it is unfinished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
    /// Who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    /// Empty without a repository or a commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// It was made in another store; what it found out proves nothing here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// A run of a check with everything that is known of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckRunView {
    #[serde(flatten)]
    pub record: CheckRecord,
    /// How far it is; absent once it has a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<CheckPhase>,
}

/// A piece of the output of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct CheckOutput {
    /// Without secrets, escape sequences and control characters.
    pub text: String,
    /// Where the piece begins, in bytes of the output. Lower than asked for if the output does not
    /// reach that far, or if a secret could be cut there.
    pub offset: u64,
    /// Where the next piece begins.
    pub next_offset: u64,
    /// Whether this is the end of the output and nothing more follows.
    pub ended: bool,
    /// How far the run is; absent once it has a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<CheckPhase>,
    /// Bytes of output so far.
    pub bytes: u64,
}

impl WorkDesk<'_> {
    /// The newest runs of a check, or of all checks of a workspace.
    pub fn check_runs(
        self,
        workspace: &WorkspaceId,
        check: Option<&str>,
        limit: u32,
    ) -> RunTold<CheckRunsAnswer> {
        let records = self.0.checks().newest(workspace, check, limit)?;
        let row = |record: CheckRecord| CheckRunRow {
            phase: self.phase(workspace, &record),
            duration_ms: record.is_finished().then_some(record.duration_ms),
            id: record.id,
            check: record.check,
            verdict: record.verdict,
            requested_at: record.requested_at,
            started_at: record.started_at,
            counts: record.counts,
            by: record.requested_by,
            commit: record.files.commit,
            imported: record.imported,
        };
        Ok(CheckRunsAnswer { runs: records.into_iter().map(row).collect() })
    }

    pub fn check_run(self, workspace: &WorkspaceId, run: CheckRunId) -> RunTold<CheckRunView> {
        let record = self.record(workspace, run)?;
        Ok(CheckRunView { phase: self.phase(workspace, &record), record })
    }

    /// A piece of the output of a run, from about an offset on.
    pub fn check_output(
        self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        offset: u64,
    ) -> RunTold<CheckOutput> {
        // Read before the file: what has ended by now writes nothing more.
        let record = self.record(workspace, run)?;
        let is_finished = record.is_finished();
        let source = record.answered_by.unwrap_or(run);
        let shown = self.0.checks().shown_output(workspace, source, (offset, is_finished));
        let shown = shown.map_err(|error| {
            tracing::error!(%error, %run, "could not read the output of a check");
            RunFault::new(RunCode::StoreUnavailable, format!("the output of {run}: {error}"))
        })?;
        let kept = || record.output.as_ref().filter(|_| is_finished).map(kept_ends);
        let ShownOutput { text, start, next, size } = shown.or_else(kept).unwrap_or_default();
        Ok(CheckOutput {
            text,
            offset: start,
            next_offset: next,
            ended: is_finished && next == size,
            phase: self.phase(workspace, &record),
            bytes: size,
        })
    }

    /// Ends a run without a verdict.
    pub fn cancel_check(
        self,
        caller: &Caller,
        workspace: &WorkspaceId,
        run: CheckRunId,
    ) -> RunTold<CheckRunView> {
        caller.confirm_workspace(workspace)?;
        self.record(workspace, run)?;
        let name = caller.by.as_ref().map_or_else(person_name, |by| by.name.clone());
        self.0.checks().cancel(workspace, run, &format!("cancelled by {name}"))?;
        self.check_run(workspace, run)
    }

    fn record(self, workspace: &WorkspaceId, run: CheckRunId) -> RunTold<CheckRecord> {
        let unknown = || {
            let detail = format!("there is no run {run} in workspace {workspace}");
            RunFault::new(RunCode::UnknownCheckRun, detail)
        };
        self.0.checks().record(workspace, run)?.ok_or_else(unknown)
    }

    /// How far a run is; another process may work on it.
    fn phase(self, workspace: &WorkspaceId, record: &CheckRecord) -> Option<CheckPhase> {
        if record.is_finished() {
            return None;
        }
        let watch = self.0.checks().watch(workspace, record.id);
        let seen = match record.started_at {
            Some(_) => CheckPhase::Started,
            None => CheckPhase::Queued,
        };
        Some(watch.map_or(seen, |watch| watch.phase))
    }
}

/// What is left of an output whose file is gone: its beginning and its end.
fn kept_ends(output: &OutputRecord) -> ShownOutput {
    let text = match output.tail.is_empty() {
        true => output.head.clone(),
        false => format!("{}\n…\n{}", output.head, output.tail),
    };
    ShownOutput { text, start: 0, next: output.size, size: output.size }
}
