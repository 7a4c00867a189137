//! Orphans of agents. An agent keeps its descendants below it, in whatever session and with
//! whatever environment; when it ends, its orphans become children of this server, which has
//! started none of them and kills them all. Only Linux supports this.

use std::{
    collections::BTreeSet,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::process::Child;

/// Processes of agents that this server started and has not seen end.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process that is not a stray. No scan for strays runs meanwhile.
pub(crate) fn known(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let mut started = started();
    let child = start()?;
    started.extend(child.id());
    Ok(child)
}

/// The process has ended.
pub(crate) fn forget(pid: u32) {
    started().remove(&pid);
}

#[cfg(target_os = "linux")]
pub(crate) use adopting::{adopt, end};
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{adopt, end};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    //! Orphans go to the init process.

    /// Not supported on this system.
    pub(crate) fn adopt() {}

    /// None is known on this system.
    pub(crate) fn end() {}
}

#[cfg(target_os = "linux")]
mod adopting {
    //! Linux reparents orphans to the nearest ancestor that registered as a subreaper.

    use std::{fs, path::PathBuf, time::Duration};

    use rustix::process::{
        Pid, Signal, WaitOptions, getpgid, getpgrp, getpid, kill_process, set_child_subreaper,
        waitpid,
    };

    use super::started;

    /// How often to scan: an orphan may have children, which are orphaned in turn.
    const ROUNDS_MAX: u32 = 50;
    const ROUND_PAUSE: Duration = Duration::from_millis(5);

    /// Makes this process the subreaper of its agents' orphans.
    pub(crate) fn adopt() {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(
                %error,
                "could not register as subreaper; orphans of agents will not be found"
            );
        }
    }

    /// Kills every orphan of this server, and reaps it. Blocks for a moment.
    pub(crate) fn end() {
        for _ in 0..ROUNDS_MAX {
            let strays = strays();
            if strays.is_empty() {
                return;
            }
            for stray in strays {
                if let Err(error) = kill_process(stray, Signal::KILL) {
                    tracing::trace!(%error, ?stray, "orphan had exited already");
                }
                if let Err(error) = waitpid(Some(stray), WaitOptions::NOHANG) {
                    tracing::trace!(%error, ?stray, "orphan was reaped already");
                }
            }
            std::thread::sleep(ROUND_PAUSE);
        }
        tracing::warn!("could not kill some orphans of agents");
    }

    /// Children that this server did not start as agents. Commands that it runs for itself, such as
    /// git, are in its own process group and not contained.
    fn strays() -> Vec<Pid> {
        let group = getpgrp();
        let home = containment("self");
        let started = started();
        let strange = |pid: &Pid| {
            let raw = pid.as_raw_nonzero().get();
            let place = containment(&raw.to_string());
            let elsewhere = place.is_some() && place != home;
            let known = u32::try_from(raw).is_ok_and(|raw| started.contains(&raw));
            !known && (elsewhere || getpgid(Some(*pid)).is_ok_and(|own| own != group))
        };
        children().filter(strange).collect()
    }

    /// What a process cannot undo once it is contained: its mount namespace, and with Landlock the
    /// no-new-privileges flag.
    fn containment(process: &str) -> Option<(PathBuf, bool)> {
        let namespace = fs::read_link(format!("/proc/{process}/ns/mnt")).ok()?;
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        Some((namespace, status.lines().any(|line| line == "NoNewPrivs:\t1")))
    }

    fn children() -> impl Iterator<Item = Pid> {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let lists =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let pids: Vec<i32> = lists
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|word| word.parse().ok())
            .collect();
        pids.into_iter().filter_map(Pid::from_raw)
    }
}
