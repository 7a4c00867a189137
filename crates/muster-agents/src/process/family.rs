//! All descendants of a process: children, grandchildren, and those that started their own session.
//! They are found by their parents and by markers in their environment, which a process passes on
//! to its children.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use muster_core::run::id::{NodeId, RunId, ToolId};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::contained::is_kept_from;

/// Variable that names the storage folder.
const STORAGE: &str = "MUSTER_DATA_ID";
/// Variable that names the run.
const RUN: &str = "MUSTER_RUN_ID";
/// Variable that names the node.
const NODE: &str = "MUSTER_NODE_ID";
/// Variable that names the call.
const TOOL: &str = "MUSTER_TOOL_ID";
/// How often the family is scanned: processes that spawn faster than they are found are stopped
/// first.
const ROUNDS_MAX: u32 = 50;
const ROUND_PAUSE: Duration = Duration::from_millis(5);

/// The markers that processes bear.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Family {
    /// The storage folder.
    pub(crate) mark: String,
    pub(crate) run: Option<RunId>,
    pub(crate) node: Option<NodeId>,
    /// The call of a tool; all of the node without one.
    pub(crate) tool: Option<ToolId>,
}

impl Family {
    /// The marker variables of its processes.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![(STORAGE, self.mark.clone())];
        variables.extend(self.run.map(|run| (RUN, run.to_string())));
        variables.extend(self.node.map(|node| (NODE, node.to_string())));
        variables.extend(self.tool.map(|tool| (TOOL, tool.to_string())));
        variables
    }

    /// Whether an environment bears all of its markers.
    fn marks(&self, environment: &[u8]) -> bool {
        self.variables().iter().all(|(name, value)| {
            let line = format!("{name}={value}");
            environment.split(|byte| *byte == 0).any(|entry| entry == line.as_bytes())
        })
    }

    /// Kills the group of a process, its descendants and every process that bears the markers,
    /// until none is left. Without a process, only the marked ones. Blocks for a moment.
    pub(crate) fn kill(&self, root: Option<u32>) {
        self.kill_all(root, &BTreeSet::new());
    }

    /// The same with processes that were seen below it earlier, whatever their parents are now.
    pub(crate) fn kill_all(&self, root: Option<u32>, seen: &BTreeSet<(u32, u64)>) {
        let roots: BTreeSet<u32> = root.filter(|pid| *pid > 1).into_iter().collect();
        let mut descendants = descendants_of_all(&roots);
        let same = |(pid, started): &(u32, u64)| start_time(*pid) == Some(*started);
        descendants.extend(seen.iter().filter(|process| same(process)).map(|(pid, _)| *pid));
        roots.iter().for_each(|pid| signal_group(*pid, Signal::KILL));
        for _ in 0..ROUNDS_MAX {
            descendants.extend(descendants_of_all(&descendants));
            let marked = processes().into_iter().filter(|process| self.bears(process.pid));
            let mut left: BTreeSet<u32> = marked.map(|process| process.pid).collect();
            left.extend(descendants.iter().copied().filter(|pid| is_alive(*pid)));
            left.remove(&std::process::id());
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|pid| signal(*pid, Signal::KILL));
            std::thread::sleep(ROUND_PAUSE);
        }
        tracing::warn!(?root, "could not kill some processes of a node");
    }

    fn bears(&self, pid: u32) -> bool {
        let own = pid == std::process::id();
        !own && fs::read(format!("/proc/{pid}/environ")).is_ok_and(|env| self.marks(&env))
            && is_alive(pid)
    }
}

/// A process as the system lists it.
#[derive(Clone, Copy)]
struct Listed {
    pid: u32,
    parent: u32,
}

/// Every process of the machine; none where the system does not list them as files.
fn processes() -> Vec<Listed> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some(Listed { pid, parent: status(pid)?.parent })).collect()
}

struct Status {
    parent: u32,
    started: u64,
    gone: bool,
}

/// The system's record of a process. Its name may hold spaces and parentheses, so the fields are
/// counted from the last parenthesis.
fn status(pid: u32) -> Option<Status> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
    Some(Status {
        gone: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// When a process started, in the system's own count.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    status(pid).map(|status| status.started)
}

/// Whether a process runs; a zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    status(pid).is_some_and(|status| !status.gone)
}

fn descendants_of_all(roots: &BTreeSet<u32>) -> BTreeSet<u32> {
    let listed = processes();
    let mut found = BTreeSet::new();
    let mut known = roots.clone();
    loop {
        let children: Vec<u32> = listed
            .iter()
            .filter(|process| known.contains(&process.parent) && !known.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if children.is_empty() {
            return found;
        }
        found.extend(&children);
        known.extend(children);
    }
}

/// The current descendants of a process, each with its start time. Cheap: only its own tree is
/// read.
pub(crate) fn below(root: u32) -> BTreeSet<(u32, u64)> {
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|word| word.parse().ok()) {
                if let Some(started) = start_time(child)
                    && found.insert((child, started))
                {
                    open.push(child);
                }
            }
        }
    }
    found
}

/// Sends a signal to a process group.
pub(crate) fn signal_group(group: u32, signal: Signal) {
    if let Some(pid) = number(group)
        && let Err(error) = kill_process_group(pid, signal)
    {
        tracing::trace!(%error, group, "process group had exited already");
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = number(pid)
        && let Err(error) = kill_process(pid, signal)
    {
        tracing::trace!(%error, ?pid, "process had exited already");
    }
}

/// A process id other than the first.
fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|raw| *raw > 1).and_then(Pid::from_raw)
}

/// Kills the processes that an earlier server of the same storage folder left: those that bear its
/// mark, with all their descendants, and those that are kept from the folder.
pub(crate) fn kill_strays(mark: &str, storage: &Path) {
    let family = Family { mark: mark.to_owned(), run: None, node: None, tool: None };
    let left = |pid: u32| family.bears(pid) || is_kept_from(pid, storage);
    let left = processes().into_iter().map(|process| process.pid).filter(|pid| left(*pid));
    let left: BTreeSet<u32> = left.filter(|pid| *pid != std::process::id()).collect();
    // Looked up before anything is killed: descendants are reparented when their parent ends.
    let below = descendants_of_all(&left);
    let all = left.union(&below).filter_map(|pid| Some((*pid, start_time(*pid)?)));
    family.kill_all(None, &all.collect());
}

/// Kills a recorded process with its group, if it is still the same one.
pub(crate) fn kill_recorded(process: muster_core::run::node::Process) {
    if process.started != 0 && start_time(process.pid) == Some(process.started) {
        let family = Family { mark: "-".to_owned(), run: None, node: None, tool: None };
        family.kill(Some(process.pid));
    }
}
