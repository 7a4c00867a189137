//! Runs a check and judges it.
//!
//! ```text
//!   lock of the directory ─► files before ─► process group ─► files after ─► verdict
//!                                 ▲                              │
//!                                 └──── once more if they moved ─┘
//! ```

use std::{
    fs::File,
    io::{self, BufReader, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use muster_core::{
    checks::{
        definition::CheckDefinition,
        record::{OutputRecord, ProgramRecord, TreeState},
        verdict::{ProcessEnd, TestResults, Verdict, judge},
    },
    run::{id::ToolId, node::Process},
};
use sha2::{Digest as _, Sha256};

use super::{
    clean::{self, CleanCheckout},
    directory::DirectoryLock,
    output::{FinishedOutput, OutputLog, OutputReader},
    programs, results,
    scoped::{ScopedTree, tree_root},
    tree::TreeError,
    trees::ProjectTrees,
};
use crate::{
    background,
    process::{
        self, Launch,
        confine::Confinement,
        family::{self, Family},
    },
};

/// How long output is still read after the end of the process, since others may hold it open.
const DRAIN: Duration = Duration::from_millis(500);
const REPORT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Runs the checks of one storage folder.
pub struct CheckRunner {
    /// Where locks and output are kept.
    home: PathBuf,
    mark: String,
    trees: ProjectTrees,
}

/// A check to run.
#[derive(Clone)]
pub(crate) struct CheckOrder {
    /// Names the file of the output, and marks its processes.
    pub id: String,
    pub definition: CheckDefinition,
    /// The directory of the project file.
    pub root: PathBuf,
    pub purpose: CheckPurpose,
}

/// What a check is run for.
#[derive(Clone)]
pub(crate) enum CheckPurpose {
    /// A verdict that others rely on. It is bound to the files, so they have to be readable.
    Proof,
    /// The report of a run. Its processes are marked as those of the run.
    Run(Box<RunProcesses>),
}

/// How the processes of a run's check are marked and contained.
#[derive(Clone)]
pub(crate) struct RunProcesses {
    pub family: Family,
    pub confinement: Option<Confinement>,
}

/// What happens while a check runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckProgress<'a> {
    /// Another check uses the directory.
    Waiting,
    Started(Process),
    Output(&'a [u8]),
    /// Files changed while it ran, so it runs once more.
    Repeated,
}

/// Everything that was found out.
#[derive(Clone, Debug)]
pub(crate) struct CheckOutcome {
    pub verdict: Verdict,
    pub end: ProcessEnd,
    pub results: Option<TestResults>,
    pub tree: TreeState,
    pub duration: Duration,
    pub output: OutputRecord,
    /// The ends of standard output and standard error.
    pub tails: [String; 2],
    /// The program that the command line resolved to.
    pub program: Option<ProgramRecord>,
}

/// Why a check has no verdict.
#[derive(Debug, thiserror::Error)]
pub enum CheckRunError {
    #[error("the files of the project cannot be read: {0}")]
    Tree(#[from] TreeError),
    #[error("the check could not be started: {0}")]
    Start(io::Error),
    #[error("the output of the check cannot be kept: {0}")]
    Output(io::Error),
    #[error("its files could not be laid out in a clean checkout: {0}")]
    Clean(io::Error),
}

impl CheckRunner {
    /// For the checks of a storage folder.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        // Another mark than that of runs: a server that starts ends every process with that one.
        let mark = format!("checks-{}", process::mark(home));
        let home = home.join("checks");
        Self { trees: ProjectTrees::new(&home), home, mark }
    }

    /// The files of projects.
    pub(super) fn trees(&self) -> &ProjectTrees {
        &self.trees
    }

    /// Waits until no other check uses a directory.
    pub(crate) async fn lock(
        &self,
        root: &Path,
        progress: &impl Fn(CheckProgress<'_>),
    ) -> Result<DirectoryLock, CheckRunError> {
        let lock = DirectoryLock::file(&self.home, root).map_err(CheckRunError::Output)?;
        lock.take(|| progress(CheckProgress::Waiting)).await.map_err(CheckRunError::Output)
    }

    /// Runs a check to its end. Dropping the future kills its processes.
    pub(crate) async fn run(
        self: &Arc<Self>,
        order: &CheckOrder,
        _lock: &DirectoryLock,
        progress: impl Fn(CheckProgress<'_>) + Send + Sync,
    ) -> Result<CheckOutcome, CheckRunError> {
        let mut outcome = self.run_once(order, &progress).await?;
        if outcome.verdict == Verdict::Moved {
            progress(CheckProgress::Repeated);
            outcome = self.run_once(order, &progress).await?;
        }
        Ok(outcome)
    }

    async fn run_once(
        self: &Arc<Self>,
        order: &CheckOrder,
        progress: &(impl Fn(CheckProgress<'_>) + Send + Sync),
    ) -> Result<CheckOutcome, CheckRunError> {
        match order.definition.clean {
            true => self.run_clean(order, progress).await,
            false => self.run_in_place(order, progress).await,
        }
    }

    /// Runs a check in a copy of its files. What it writes there does not concern the project; the
    /// verdict is about the files that were copied.
    async fn run_clean(
        self: &Arc<Self>,
        order: &CheckOrder,
        progress: &(impl Fn(CheckProgress<'_>) + Send + Sync),
    ) -> Result<CheckOutcome, CheckRunError> {
        let runner = self.clone();
        let asked = order.clone();
        let (checkout, source) = blocking(move || runner.lay_out(&asked)).await??;
        let root = tree_root(&order.root);
        let prefix = order.root.strip_prefix(&root).unwrap_or(Path::new(""));
        let copied = CheckOrder { root: checkout.root().join(prefix), ..order.clone() };
        let ran = self.run_in_place(&copied, progress).await;
        blocking(move || drop(checkout)).await?;
        let ran = ran?;
        // Files that changed while they were copied.
        let has_moved = ran.verdict.is_pass() && ran.tree.scope != source.scope;
        let verdict = if has_moved { Verdict::Moved } else { ran.verdict };
        let program = programs::first_program(&order.definition.run, &order.root);
        let unbound = source.unbound.clone().or_else(|| ran.tree.unbound.clone());
        Ok(CheckOutcome { verdict, program, tree: TreeState { unbound, ..source }, ..ran })
    }

    fn lay_out(&self, order: &CheckOrder) -> Result<(CleanCheckout, TreeState), CheckRunError> {
        let root = tree_root(&order.root);
        let tree = self.trees.tree(&root)?;
        let checkout = CleanCheckout::lay_out(&self.checkouts(), &order.id, &root, &tree)
            .map_err(CheckRunError::Clean)?;
        Ok((checkout, ScopedTree::of(&tree, &root, order).state))
    }

    async fn run_in_place(
        self: &Arc<Self>,
        order: &CheckOrder,
        progress: &(impl Fn(CheckProgress<'_>) + Send + Sync),
    ) -> Result<CheckOutcome, CheckRunError> {
        let before = self.scoped_tree_async(order, ProjectTrees::scoped_to_watch).await?;
        let began_at = SystemTime::now();
        let program = programs::first_program(&order.definition.run, &order.root);
        let ended = self.process(order, progress).await?;
        let results = report(order, began_at).or_else(|| ended.output.lines.results());
        let after = self.scoped_tree_async(order, ProjectTrees::scoped).await?;
        let judged = judge(ended.end, results.as_ref());
        let has_moved = judged.is_pass() && before.scope != after.scope;
        let verdict = if has_moved { Verdict::Moved } else { judged };
        let output = OutputRecord {
            size: ended.output.size,
            digest: ended.output.digest,
            head: ended.output.head,
            tail: ended.output.tail,
        };
        let tails = ended.output.tails;
        let tree = after.state;
        let EndedProcess { end, duration, .. } = ended;
        Ok(CheckOutcome { verdict, end, results, tree, duration, output, tails, program })
    }

    async fn scoped_tree_async(
        self: &Arc<Self>,
        order: &CheckOrder,
        read: fn(&ProjectTrees, &CheckOrder) -> Result<ScopedTree, TreeError>,
    ) -> Result<ScopedTree, CheckRunError> {
        let runner = self.clone();
        let asked = order.clone();
        let read = blocking(move || read(&runner.trees, &asked)).await?;
        match (read, &order.purpose) {
            (Ok(tree), _) => Ok(tree),
            (Err(error), CheckPurpose::Proof) => Err(error.into()),
            (Err(error), CheckPurpose::Run(_)) => Ok(ScopedTree::unreadable(&error)),
        }
    }

    async fn process(
        &self,
        order: &CheckOrder,
        progress: &(impl Fn(CheckProgress<'_>) + Send + Sync),
    ) -> Result<EndedProcess, CheckRunError> {
        let words = order.definition.run.words();
        let mut env = order.definition.env.clone();
        env.entry("PATH".to_owned())
            .or_insert_with(|| programs::search_path().to_string_lossy().into_owned());
        let (family, confinement) = match &order.purpose {
            CheckPurpose::Proof => (self.family(&order.id), None),
            CheckPurpose::Run(run) => (run.family.clone(), run.confinement.as_ref()),
        };
        let workdir = &order.root;
        let launch = Launch { command: &words, workdir, env: &env, family: &family, confinement };
        let mut log =
            OutputLog::create(&self.log_path(&order.id)).map_err(CheckRunError::Output)?;
        let began = Instant::now();
        let (mut running, streams) = process::start(&launch).map_err(CheckRunError::Start)?;
        let guard = KillGuard { family: &family, pid: running.identity.pid };
        drop(streams.stdin);
        progress(CheckProgress::Started(running.identity));
        let limit = Duration::from_secs(order.definition.timeout_seconds);
        let mut reader = OutputReader::new(streams.stdout, streams.stderr);
        let note = |piece: &[u8]| progress(CheckProgress::Output(piece));
        let ended = tokio::select! {
            status = tokio::time::timeout(limit, running.wait()) => status,
            failed = reader.read(&mut log, &note) => {
                failed.map_err(CheckRunError::Output)?;
                tokio::time::timeout(limit.saturating_sub(began.elapsed()), running.wait()).await
            }
        };
        let duration = began.elapsed();
        running.kill().await;
        std::mem::forget(guard);
        if let Ok(drained) = tokio::time::timeout(DRAIN, reader.read(&mut log, &note)).await {
            drained.map_err(CheckRunError::Output)?;
        }
        let end = match ended {
            Ok(status) => end_of(status.map_err(CheckRunError::Start)?),
            Err(_) => ProcessEnd::TimedOut,
        };
        let output = log.finish().map_err(CheckRunError::Output)?;
        Ok(EndedProcess { end, duration, output })
    }

    /// The marks of the processes of a check. They follow from its id, so that another process
    /// finds what is left of it.
    fn family(&self, id: &str) -> Family {
        let hash = Sha256::digest(id.as_bytes());
        let tool = hash.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte));
        Family { mark: self.mark.clone(), run: None, node: None, tool: Some(ToolId(tool)) }
    }

    /// Kills what is left of the processes of a check, and removes its clean checkout.
    pub(super) fn kill(&self, id: &str, process: Option<Process>) {
        process.into_iter().for_each(family::kill_recorded);
        self.family(id).kill(None);
        clean::sweep_one(&self.checkouts(), id);
    }

    /// Removes the clean checkouts of processes that are gone.
    pub(super) fn sweep(&self) {
        clean::sweep(&self.checkouts());
    }

    /// The folder of all clean checkouts.
    fn checkouts(&self) -> PathBuf {
        self.home.join("clean")
    }

    /// The folder of all output files.
    pub(super) fn logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// The file of the output of a check.
    pub(crate) fn log_path(&self, id: &str) -> PathBuf {
        self.logs().join(format!("{id}.log"))
    }
}

struct EndedProcess {
    end: ProcessEnd,
    duration: Duration,
    output: FinishedOutput,
}

/// Kills what is left of a check whose result is no longer wanted.
struct KillGuard<'a> {
    family: &'a Family,
    pid: u32,
}

impl Drop for KillGuard<'_> {
    fn drop(&mut self) {
        self.family.kill(Some(self.pid));
    }
}

fn end_of(status: std::process::ExitStatus) -> ProcessEnd {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Exit(code),
        (None, signal) => ProcessEnd::Signal(signal.unwrap_or(0)),
    }
}

/// Does something that blocks.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CheckRunError> {
    let done = background::blocking(work).await;
    done.map_err(|error| CheckRunError::Output(io::Error::other(error)))
}

/// What the report says, if the check wrote one.
fn report(order: &CheckOrder, began_at: SystemTime) -> Option<TestResults> {
    let path = order.root.join(order.definition.report.as_ref()?);
    // Clocks of file systems are coarse.
    let oldest = began_at.checked_sub(Duration::from_millis(20))?;
    let file = File::open(&path).ok()?;
    let data = file.metadata().ok()?;
    if !data.is_file() || data.modified().ok()? < oldest {
        return None;
    }
    match results::junit(BufReader::new(file.take(REPORT_BYTES_MAX))) {
        Ok(results) => Some(results),
        Err(error) => {
            tracing::warn!(path = %path.display(), error, "could not read the report of a check");
            None
        }
    }
}

#[cfg(test)]
mod tests;
