//! VERIFY: what a run has to pass before it is done. Its checks are run like those of projects; the
//! report has the outcome of each ([0026](../../../docs/adr/0026-checks-of-runs.md)).

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use muster_core::{
    checks::{
        definition::{CheckCommand, CheckDefinition},
        verdict::{FAILED_TESTS_MAX, ProcessEnd, TestCounts, Verdict},
    },
    run::{
        Ask,
        artifact::{ArtifactKind, WrittenFile},
        command::VerifyReport,
        hash::sha256_hex,
        id::RunId,
        moment::Moment,
        node::Node,
        record::Run,
        settings::Check,
    },
    tasks::step::Checkpoints,
};
use serde::Serialize;

use super::{
    boot::load_run,
    bound,
    checks::{CheckOrder, CheckOutcome, CheckPurpose, CheckRunError, RunProcesses},
    finish::{redacted, write},
    process::{self, capture::OutputTail},
    reports::report,
    settings::Contain,
    shared::RunsContext,
    worktree::{JudgedFiles, JudgedSource},
};

/// Lines of output that distinguish one failure from another.
const FAILURE_LINES: usize = 40;
const CHUNK_BYTES: usize = 64 * 1024;

/// The outcome of one verification command.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    name: String,
    command: String,
    cwd: String,
    ok: bool,
    required: bool,
    exit_code: Option<i32>,
    signal: Option<i32>,
    timed_out: bool,
    duration_ms: u64,
    stdout_tail: String,
    stderr_tail: String,
    /// None if it could not be run.
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<TestCounts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_tests: Vec<String>,
    /// Digest of the files that it ran on; empty if they could not be read.
    #[serde(skip_serializing_if = "String::is_empty")]
    tree: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifyFile {
    ok: bool,
    started_at: Moment,
    /// Whose files were judged; none if they could not be brought together.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<JudgedSource>,
    checks: Vec<Outcome>,
}

/// Runs the checks one after the other and reports the results (RUNS-PH-2).
pub(crate) async fn verify(shared: Arc<RunsContext>, run: RunId) {
    let Some((record, nodes)) = load_run(&shared, run).await else { return };
    let started_at = Moment(shared.engine.now());
    let mut found = Found::default();
    if !record.checks.is_empty() {
        found = judge(&shared, &record, nodes).await;
    }
    let Found { checks, logs, files } = found;
    let failing: Vec<&Outcome> =
        checks.iter().filter(|check| check.required && !check.ok).collect();
    let ok = failing.is_empty();
    let failed = failing.iter().map(|check| check.name.clone()).collect();
    let failure_hash = (!ok).then(|| failure_hash(&failing));
    let file = VerifyFile { ok, started_at, files, checks };
    let Some(report) = report(&shared, run, "verify.report.json", &file) else { return };
    let lines = evidence(&file.checks, &report);
    let verified = VerifyReport { ok, failed, failure_hash, report, logs };
    let accepted = shared.report(run, Ask::ReportVerification(Box::new(verified))).await;
    if !accepted.is_empty() {
        bound::attach(&shared, &record, lines).await;
    }
}

/// The outcome of the checks.
#[derive(Default)]
struct Found {
    checks: Vec<Outcome>,
    logs: Vec<WrittenFile>,
    files: Option<JudgedSource>,
}

/// Runs the checks on what the nodes of the run have written.
async fn judge(shared: &Arc<RunsContext>, record: &Run, nodes: Vec<Node>) -> Found {
    let home = shared.settings.home.clone();
    let run = record.clone();
    let files = crate::background::blocking(move || JudgedFiles::of(&home, &run, &nodes)).await;
    let files = match files {
        Ok(Ok(files)) => files,
        Ok(Err(reason)) => return unjudged(&reason.to_string()),
        Err(error) => return unjudged(&error.to_string()),
    };
    let mut found = Found { files: Some(files.source.clone()), ..Found::default() };
    for (at, check) in record.checks.iter().enumerate() {
        let place = (files.directory.as_path(), at + 1);
        let (outcome, log) = one(shared, record, check, place).await;
        let stops = !outcome.ok && outcome.required && record.settings.verify_fail_fast;
        found.checks.push(outcome);
        found.logs.extend(log);
        if stops {
            break;
        }
    }
    if crate::background::blocking(move || files.clear()).await.is_err() {
        tracing::warn!(run = %record.id, "could not remove the trial merge of a run");
    }
    found
}

/// The work of the nodes does not go together, which is a failed check of its own.
fn unjudged(reason: &str) -> Found {
    let outcome = Outcome {
        name: "merge of the worktrees".to_owned(),
        command: "git merge".to_owned(),
        cwd: ".".to_owned(),
        required: true,
        exit_code: Some(1),
        stderr_tail: reason.to_owned(),
        verdict: Some(Verdict::Failed),
        ..Outcome::default()
    };
    Found { checks: vec![outcome], ..Found::default() }
}

/// The results of the checks, as lines for the task of the run.
fn evidence(checks: &[Outcome], report: &WrittenFile) -> Vec<String> {
    let line = |check: &Outcome| {
        let code = check.exit_code.map_or("no exit code".to_owned(), |code| format!("exit {code}"));
        format!("CMD: {} ({}) -> {code}", check.command, check.name)
    };
    let link = format!("LINK: {}", muster_core::run::artifact::artifact_reference(report.id));
    checks.iter().map(line).chain([link]).collect()
}

async fn one(
    shared: &Arc<RunsContext>,
    run: &Run,
    check: &Check,
    (directory, number): (&Path, usize),
) -> (Outcome, Option<WrittenFile>) {
    let blank = Outcome {
        name: check.name.clone(),
        command: check.command.clone(),
        cwd: check.cwd.clone(),
        required: check.required,
        ..Outcome::default()
    };
    let id = format!("run-{}-{number}", run.id);
    let log_file = shared.checks.log_path(&id);
    let outcome = match performed(shared, run, check, (directory, id)).await {
        Ok(found) => with_findings(blank, found),
        Err(error) => Outcome { stderr_tail: error.to_string(), ..blank },
    };
    (outcome, keep_log(shared, run.id, &log_file, number))
}

/// Runs a check in the directory that it names.
async fn performed(
    shared: &Arc<RunsContext>,
    run: &Run,
    check: &Check,
    (directory, id): (&Path, String),
) -> Result<CheckOutcome, CheckRunError> {
    let root = directory_of(directory, check).map_err(CheckRunError::Start)?;
    // A check runs what agents wrote.
    let (confinement, _) = shared.containing.confine(Contain::Storage, &root);
    let confinement = confinement.map(|confined| confined.with_open(directory.to_owned()));
    let family = process::of_run(&shared.mark, run.id);
    let purpose = CheckPurpose::Run(Box::new(RunProcesses { family, confinement }));
    let order = CheckOrder { id, definition: definition_of(check), root, purpose };
    let lock = shared.checks.lock(&order.root, &|_| {}).await?;
    shared.checks.run(&order, &lock, |_| {}).await
}

/// A check of a run as one of a project that says nothing more.
fn definition_of(check: &Check) -> CheckDefinition {
    CheckDefinition {
        run: CheckCommand::Shell(check.command.clone()),
        timeout_seconds: check.timeout_seconds.into(),
        report: None,
        paths: Vec::new(),
        proves: Checkpoints::new(),
        required: check.required,
        clean: false,
        env: BTreeMap::new(),
        guard_count: false,
    }
}

fn with_findings(blank: Outcome, found: CheckOutcome) -> Outcome {
    let (exit_code, signal) = match found.end {
        ProcessEnd::Exit(code) => (Some(code), None),
        ProcessEnd::Signal(signal) => (None, Some(signal)),
        ProcessEnd::TimedOut => (None, None),
    };
    let [stdout_tail, stderr_tail] = found.tails;
    let tests = found.results.as_ref().map(|results| results.counts);
    let failed = found.results.unwrap_or_default().failed;
    Outcome {
        ok: is_enough(found.verdict),
        exit_code,
        signal,
        timed_out: found.end == ProcessEnd::TimedOut,
        duration_ms: u64::try_from(found.duration.as_millis()).unwrap_or(u64::MAX),
        stdout_tail,
        stderr_tail,
        verdict: Some(found.verdict),
        tests,
        failed_tests: failed.into_iter().take(FAILED_TESTS_MAX).collect(),
        tree: found.tree.tree,
        ..blank
    }
}

/// Whether a run may go on. A check that writes files of the run succeeded, but proves nothing
/// about them to anyone else.
fn is_enough(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Passed | Verdict::Moved => true,
        Verdict::Failed | Verdict::TimedOut | Verdict::Empty | Verdict::Interrupted => false,
    }
}

/// Makes the output of a check an artifact of the run.
fn keep_log(shared: &RunsContext, run: RunId, file: &Path, number: usize) -> Option<WrittenFile> {
    let text = match log_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(%run, %error, "could not read the output of a check");
            return None;
        }
    };
    if let Err(error) = fs::remove_file(file) {
        tracing::warn!(%run, %error, "could not remove the output of a check");
    }
    write(shared, run, ArtifactKind::Log, (&format!("verify-{number}.log"), &redacted(text)))
}

fn log_text(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let mut kept = OutputTail::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(kept.text()),
            count => kept.add(&chunk[..count]),
        }
    }
}

/// Where a check runs: below the directory of what is judged, also when links are followed.
fn directory_of(directory: &Path, check: &Check) -> io::Result<PathBuf> {
    let home = directory.canonicalize()?;
    let place = home.join(&check.cwd).canonicalize()?;
    if place.starts_with(&home) {
        return Ok(place);
    }
    let outside = format!("{} leads out of the directory of the run", check.cwd);
    Err(io::Error::new(io::ErrorKind::PermissionDenied, outside))
}

/// A hash of the failures that is the same when the same fails again (13 of the rules).
fn failure_hash(failing: &[&Outcome]) -> String {
    let mut parts: Vec<String> = failing
        .iter()
        .map(|check| {
            let output = format!("{}\n{}", check.stdout_tail, check.stderr_tail);
            let lines: Vec<&str> = output.lines().collect();
            let last = lines[lines.len().saturating_sub(FAILURE_LINES)..].join("\n");
            let plain: String =
                last.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            format!("{}\0{:?}\0{plain}", check.name, check.exit_code)
        })
        .collect();
    parts.sort();
    sha256_hex(parts.join("\0\0").as_bytes())
}
