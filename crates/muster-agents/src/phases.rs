//! BOOT and VERIFY: what is checked before a run works, and what it has to pass before it is done.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room,
        artifact::{ArtifactKind, WrittenFile},
        command::{BootReport, VerifyReport},
        hash::sha256_hex,
        id::RunId,
        lookup,
        moment::Moment,
        node::{Node, Provider},
        record::{GlobalMode, Run},
        settings::Check,
    },
};
use serde::Serialize;
use tokio::sync::watch;

use super::{
    bound,
    finish::{redacted, write},
    process::{self, Launch, capture},
    provider::{Probe, adapter},
    reports::report,
    repository::{Facts, facts},
    settings::Contain,
    shared::RunsContext,
};

/// How long all checks of BOOT may take (RUNS-PH-1).
const BOOT_MAX: Duration = Duration::from_secs(30);
/// Bytes of output that a report shows of each check.
const TAIL_BYTES: usize = 8 * 1024;
/// Lines of output that distinguish one failure from another.
const FAILURE_LINES: usize = 40;

/// The outcome of one check of the environment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fitness {
    id: &'static str,
    ok: bool,
    severity: &'static str,
    detail: String,
    duration_ms: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BootFile {
    ok: bool,
    started_at: Moment,
    checks: Vec<Fitness>,
}

async fn load_run(shared: &Arc<RunsContext>, run: RunId) -> Option<(Run, Vec<Node>)> {
    let view = |docs: &Documents<Room>| {
        let run = lookup::run(docs)?.clone();
        Ok((run, lookup::nodes(docs)?.into_iter().cloned().collect()))
    };
    shared.view(run, view).await.ok()
}

/// Checks the environment and reports the result.
pub(crate) async fn boot(shared: Arc<RunsContext>, run: RunId) {
    let Some((record, nodes)) = load_run(&shared, run).await else { return };
    let started_at = Moment(shared.engine.now());
    let checked = tokio::time::timeout(BOOT_MAX, fitness(&shared, &record, &nodes)).await;
    let checks = checked.unwrap_or_else(|_| {
        let detail = format!("the checks took longer than {} s", BOOT_MAX.as_secs());
        vec![Fitness { id: "time", ok: false, severity: "error", detail, duration_ms: 30_000 }]
    });
    let ok = checks.iter().all(|check| check.ok || check.severity != "error");
    let file = BootFile { ok, started_at, checks };
    let Some(report) = report(&shared, run, "boot.report.json", &file) else { return };
    shared.report(run, Ask::ReportBoot(Box::new(BootReport { ok, report }))).await;
}

async fn fitness(shared: &Arc<RunsContext>, run: &Run, nodes: &[Node]) -> Vec<Fitness> {
    let mut checks = Vec::new();
    let mut note = |id, severity, began: Instant, outcome: Result<String, String>| {
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (ok, detail) = match outcome {
            Ok(detail) => (true, detail),
            Err(detail) => (false, detail),
        };
        checks.push(Fitness { id, ok, severity, detail, duration_ms });
    };
    let began = Instant::now();
    note("cwd", "error", began, directory(run));
    let began = Instant::now();
    note("storage", "error", began, storage(shared, run.id));
    let began = Instant::now();
    note("repository", "warning", began, repository(Path::new(&run.cwd)).await);
    let began = Instant::now();
    let probing = Probing::begin(shared, nodes);
    for node in nodes {
        note("provider", "warning", began, probing.of(node).await);
        let began = Instant::now();
        note("template", "warning", began, template(shared, run, node));
    }
    if run.task_id.is_some() {
        let began = Instant::now();
        let done = bound::is_done(shared, run).await;
        let found = done.map(|_| "found".to_owned());
        note("task", "error", began, found.ok_or_else(|| "the task does not exist".to_owned()));
    }
    checks
}

fn directory(run: &Run) -> Result<String, String> {
    let cwd = Path::new(&run.cwd);
    std::fs::read_dir(cwd).map_err(|error| format!("{}: {error}", run.cwd))?;
    let known = std::fs::metadata(cwd).map_err(|error| format!("{}: {error}", run.cwd))?;
    if run.global_mode != GlobalMode::Planning && known.permissions().readonly() {
        return Err(format!("{} cannot be written", run.cwd));
    }
    Ok(run.cwd.clone())
}

fn storage(shared: &RunsContext, run: RunId) -> Result<String, String> {
    let folder = shared.files.prepare(run).map_err(|error| error.to_string())?;
    let probe = folder.join("probe");
    std::fs::write(&probe, b"")
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|error| error.to_string())?;
    Ok(folder.display().to_string())
}

/// Branch and state of the repository.
async fn repository(cwd: &Path) -> Result<String, String> {
    let Facts { branch, changed_files, .. } = facts(cwd).await?;
    Ok(format!("branch {}, {changed_files} changed files", branch.as_deref().unwrap_or("unknown")))
}

/// The programs of nodes, each probed once and all concurrently.
struct Probing(BTreeMap<(Provider, String), watch::Receiver<Option<Probe>>>);

impl Probing {
    fn begin(shared: &RunsContext, nodes: &[Node]) -> Self {
        let mut probing = BTreeMap::new();
        for node in nodes {
            let key = (node.provider, node.provider_profile.clone());
            let Some(profile) = shared.settings.profiles.get(&key).cloned() else { continue };
            probing.entry(key).or_insert_with(|| {
                let (found, finding) = watch::channel(None);
                let provider = node.provider;
                tokio::spawn(async move {
                    found.send_replace(Some(adapter(provider, &profile).probe().await));
                });
                finding
            });
        }
        Self(probing)
    }

    /// The probe result for the program of a node.
    async fn of(&self, node: &Node) -> Result<String, String> {
        let found = self.0.get(&(node.provider, node.provider_profile.clone()));
        let Some(mut found) = found.cloned() else {
            return Err(format!("{}: no command for {}", node.label, node.provider));
        };
        let probe = match found.wait_for(Option::is_some).await {
            Ok(probe) => probe.clone(),
            Err(_) => None,
        };
        let probe = probe.unwrap_or_else(|| Probe::absent("it could not be looked for".to_owned()));
        let version = probe.version.map(|version| format!(", {version}")).unwrap_or_default();
        let detail = format!("{}: {}{version}", node.label, probe.detail);
        match (probe.available, probe.logged_in) {
            (true, Some(true) | None) => Ok(detail),
            (true, Some(false)) | (false, _) => Err(detail),
        }
    }
}

fn template(shared: &RunsContext, run: &Run, node: &Node) -> Result<String, String> {
    match shared.settings.templates(Path::new(&run.cwd)).find(&node.role_template) {
        Ok(Some(found)) => Ok(format!("{} ({})", found.name, found.source)),
        Ok(None) => Err(format!("{}: no template {:?}", node.label, node.role_template)),
        Err(error) => Err(format!("{}: {error}", node.role_template)),
    }
}

/// The outcome of one verification command.
#[derive(Serialize)]
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
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifyFile {
    ok: bool,
    started_at: Moment,
    checks: Vec<Outcome>,
}

/// Runs the checks one after the other and reports the results (RUNS-PH-2).
pub(crate) async fn verify(shared: Arc<RunsContext>, run: RunId) {
    let Some((record, _)) = load_run(&shared, run).await else { return };
    let started_at = Moment(shared.engine.now());
    let mut checks = Vec::new();
    let mut logs = Vec::new();
    for (at, check) in record.checks.iter().enumerate() {
        let (outcome, log) = one(&shared, &record, check, at + 1).await;
        let stops = !outcome.ok && outcome.required && record.settings.verify_fail_fast;
        checks.push(outcome);
        logs.extend(log);
        if stops {
            break;
        }
    }
    let failing: Vec<&Outcome> =
        checks.iter().filter(|check| check.required && !check.ok).collect();
    let ok = failing.is_empty();
    let failed = failing.iter().map(|check| check.name.clone()).collect();
    let failure_hash = (!ok).then(|| failure_hash(&failing));
    let file = VerifyFile { ok, started_at, checks };
    let Some(report) = report(&shared, run, "verify.report.json", &file) else { return };
    let lines = evidence(&file.checks, &report);
    let verified = VerifyReport { ok, failed, failure_hash, report, logs };
    let accepted = shared.report(run, Ask::ReportVerification(Box::new(verified))).await;
    if !accepted.is_empty() {
        bound::attach(&shared, &record, lines).await;
    }
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
    number: usize,
) -> (Outcome, Option<WrittenFile>) {
    let command = ["sh", "-c", &check.command].map(str::to_owned);
    let env = BTreeMap::new();
    let family = process::of_run(&shared.mark, run.id);
    let limit = Duration::from_secs(check.timeout_seconds.into());
    let mut outcome = Outcome {
        name: check.name.clone(),
        command: check.command.clone(),
        cwd: check.cwd.clone(),
        ok: false,
        required: check.required,
        exit_code: None,
        signal: None,
        timed_out: false,
        duration_ms: 0,
        stdout_tail: String::new(),
        stderr_tail: String::new(),
    };
    let captured = match directory_of(run, check) {
        Ok(workdir) => {
            // A check runs what agents wrote.
            let (confinement, _) = shared.containing.confine(Contain::Storage, &workdir);
            let workdir = workdir.as_path();
            let confinement = confinement.as_ref();
            let launch =
                Launch { command: &command, workdir, env: &env, family: &family, confinement };
            capture::run(&launch, limit).await
        }
        Err(error) => Err(error),
    };
    let captured = match captured {
        Ok(captured) => captured,
        Err(error) => {
            outcome.stderr_tail = error.to_string();
            return (outcome, None);
        }
    };
    outcome.ok = captured.code == Some(0);
    outcome.exit_code = captured.code;
    outcome.signal = captured.signal;
    outcome.timed_out = captured.timed_out;
    outcome.duration_ms = u64::try_from(captured.duration.as_millis()).unwrap_or(u64::MAX);
    outcome.stdout_tail = captured.stdout.tail(TAIL_BYTES);
    outcome.stderr_tail = captured.stderr.tail(TAIL_BYTES);
    let all = redacted(format!("{}\n{}", captured.stdout.text(), captured.stderr.text()));
    let name = format!("verify-{number}.log");
    (outcome, write(shared, run.id, ArtifactKind::Log, (&name, &all)))
}

/// Where a check runs: below the directory of its run, also when links are followed.
fn directory_of(run: &Run, check: &Check) -> io::Result<PathBuf> {
    let home = Path::new(&run.cwd).canonicalize()?;
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
