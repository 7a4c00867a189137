//! A check that prints without end does not fill memory or disk.

use std::{fs, process::Stdio, thread, time::Duration};

use super::{Project, text, until};
use crate::program;

const MIB_QUICK: u64 = 100;
const MIB_FULL: u64 = 1_024;
/// How much more memory Muster may use than for a check that prints nothing.
const GROWTH_KIB_MAX: u64 = 20 * 1024;
const LOG_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn mebibytes() -> u64 {
    match std::env::var("MUSTER_TEST_FULL") {
        Ok(full) if full == "1" => MIB_FULL,
        _ => MIB_QUICK,
    }
}

/// The most memory that a check needed, in KiB.
fn peak(project: &Project, name: &str) -> u64 {
    let (work, store) = (project.path("work"), project.store());
    let words = ["check", name, "--json", "--dir", text(&work), "--storage-dir", text(&store)];
    let mut command = program::muster(&words);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(number.unwrap_or(0));
        thread::sleep(Duration::from_millis(5));
    }
    peak
}

#[test]
fn a_flood_of_output_costs_little_memory_and_is_judged_by_its_end_takes_time() {
    let size = mebibytes();
    let flood = format!("yes 'test flood ... ok' | head -c {size}M");
    let project = Project::new(&format!(
        "[checks.calm]\nrun = \"sleep 0.3; echo '3 passed in 0.1s'\"\n[checks.flood]\n\
         run = \"{flood}; echo; echo '2 passed, 1 failed in 0.1s'\"\n"
    ));
    project.trust("yes");
    let calm = peak(&project, "calm");
    let flooded = peak(&project, "flood");
    assert!(calm > 0 && flooded < calm + GROWTH_KIB_MAX, "{flooded} KiB, {calm} KiB without it");
    let logs = fs::read_dir(project.store().join("checks/logs")).unwrap();
    let largest = logs.map(|entry| entry.unwrap().metadata().unwrap().len()).max();
    assert_eq!(largest, Some(LOG_BYTES_MAX));
    let events = project.exported("export");
    let ended: Vec<&str> = events.lines().filter(|line| line.contains("check_finished")).collect();
    assert!(ended[1].contains("\"verdict\":\"failed\"") && ended[1].contains("\"passed\":2"));
    assert!(events.len() < 100_000, "the record has the ends of the output only");
    until("the end of its processes", || !super::is_running("test flood ... ok"));
}
