//! BOOT: what is checked before a run works.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room,
        command::BootReport,
        id::RunId,
        lookup,
        moment::Moment,
        node::{Node, Provider},
        record::{GlobalMode, Run},
    },
};
use serde::Serialize;
use tokio::sync::watch;

use super::{
    bound,
    provider::{Probe, adapter},
    reports::report,
    repository::{Facts, facts},
    shared::RunsContext,
};

/// How long all checks of BOOT may take (RUNS-PH-1).
const BOOT_MAX: Duration = Duration::from_secs(30);

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

/// A run with its nodes, if it is there.
pub(crate) async fn load_run(shared: &Arc<RunsContext>, run: RunId) -> Option<(Run, Vec<Node>)> {
    let view = |docs: &Documents<Room>| {
        let run = lookup::run(docs)?.clone();
        Ok((run, lookup::nodes(docs)?.into_iter().cloned().collect()))
    };
    shared.view(run, view).await.ok()
}

/// Checks the environment and reports the result.
pub(crate) async fn check_environment(shared: Arc<RunsContext>, run: RunId) {
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
        let settings = shared.live.now();
        for node in nodes {
            let key = (node.provider, node.provider_profile.clone());
            let Some(profile) = settings.profiles.get(&key).cloned() else { continue };
            probing.entry(key).or_insert_with(|| {
                let (found, finding) = watch::channel(None);
                let provider = node.provider;
                crate::background::spawn(async move {
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
    match shared.live.now().templates(Path::new(&run.cwd)).find(&node.role_template) {
        Ok(Some(found)) => Ok(format!("{} ({})", found.name, found.source)),
        Ok(None) => Err(format!("{}: no template {:?}", node.label, node.role_template)),
        Err(error) => Err(format!("{}: {error}", node.role_template)),
    }
}
