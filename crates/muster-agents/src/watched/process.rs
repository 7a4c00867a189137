//! The process of an agent, found from a hook that it runs, so that no session seems to go on
//! whose agent was killed or reports no end. Only Linux shows enough of processes; elsewhere
//! none is found.

use muster_core::watched::{AgentProcess, WatchedProgram};

/// Processes between an agent and its hook, such as a shell.
#[cfg(target_os = "linux")]
const ABOVE_MAX: usize = 8;
/// Words of a command line that may name the program: an interpreter and flags come before it.
#[cfg(target_os = "linux")]
const WORDS_MAX: usize = 4;

/// The agent that runs this hook.
#[cfg(target_os = "linux")]
#[must_use]
pub fn of_this_hook(program: WatchedProgram) -> Option<AgentProcess> {
    let mut pid = std::process::id();
    for _ in 0..ABOVE_MAX {
        pid = read(pid)?.parent;
        if is_of(pid, program.name()) {
            return Some(AgentProcess {
                pid,
                started: read(pid)?.started,
                namespace: namespace()?,
            });
        }
    }
    None
}

#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn of_this_hook(_program: WatchedProgram) -> Option<AgentProcess> {
    None
}

/// Whether a process still runs, and not another one under its number. One whose number counts
/// elsewhere is taken to run, because nothing here can tell.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_alive(process: AgentProcess) -> bool {
    if namespace() != Some(process.namespace) {
        return true;
    }
    read(process.pid).is_some_and(|found| found.started == process.started && !found.is_dead)
}

#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_alive(_process: AgentProcess) -> bool {
    true
}

#[cfg(target_os = "linux")]
struct FoundProcess {
    parent: u32,
    started: u64,
    is_dead: bool,
}

#[cfg(target_os = "linux")]
fn read(pid: u32) -> Option<FoundProcess> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may contain anything; behind it the state is the first field.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let [state, parent, ..] = &fields[..] else { return None };
    let started = fields.get(19)?.parse().ok()?;
    Some(FoundProcess { parent: parent.parse().ok()?, started, is_dead: *state == "Z" })
}

/// The namespace in which this process sees numbers of processes.
#[cfg(target_os = "linux")]
fn namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Some(std::fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

/// Whether the command line of a process names a program.
#[cfg(target_os = "linux")]
fn is_of(pid: u32, name: &str) -> bool {
    let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let words = line.split(|byte| *byte == 0).take(WORDS_MAX).map(String::from_utf8_lossy);
    // A word with spaces is a command of a shell, such as the one that runs this hook.
    let mut programs = words.filter(|word| !word.starts_with('-') && !word.contains(' '));
    programs.any(|word| word.rsplit('/').next().is_some_and(|file| file.contains(name)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use muster_core::watched::AgentProcess;

    use super::{is_alive, is_of, namespace, read};

    #[test]
    fn a_process_is_known_by_its_name_and_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("claude");
        std::os::unix::fs::symlink("/bin/sleep", &agent).unwrap();
        let mut child = Command::new(&agent).arg("60").spawn().unwrap();
        let pid = child.id();
        let found = read(pid).unwrap();
        assert_eq!(found.parent, std::process::id());
        assert!(!is_of(pid, "codex"));
        let namespace = namespace().unwrap();
        let process = AgentProcess { pid, started: found.started, namespace };
        assert!(is_alive(process));
        assert!(!is_alive(AgentProcess { started: found.started + 1, ..process }));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(process));
        let elsewhere = AgentProcess { namespace: namespace + 1, ..process };
        assert!(is_alive(elsewhere), "its number means nothing here");
    }

    #[test]
    fn a_shell_that_runs_the_hook_is_not_the_agent() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read line # muster hook report claude"]).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        assert!(!is_of(shell.id(), "claude"));
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
}
