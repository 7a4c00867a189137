//! Muster is killed at random moments of a check: no verdict that was printed is lost, none is made
//! up, and no process is left. `MUSTER_TEST_FULL=1` asks for many more kills.

use std::{
    collections::BTreeMap,
    fs,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use muster_testkit::faults::Chance;
use serde_json::Value;

use super::{Project, running, text};
use crate::program;

const SEED: u64 = 20_261_118;
const KILLS_QUICK: usize = 12;
const KILLS_FULL: usize = 200;
/// A kill comes up to this long after the start: some come before the check starts, some after its
/// verdict was printed.
const DELAY_MAX_MS: u64 = 900;

fn kills() -> usize {
    match std::env::var("MUSTER_TEST_FULL") {
        Ok(full) if full == "1" => KILLS_FULL,
        _ => KILLS_QUICK,
    }
}

/// What the log says about all runs.
#[derive(Default)]
struct Runs {
    /// Names of the checks.
    checks: BTreeMap<String, String>,
    /// Verdicts; none for an interrupted run.
    ends: BTreeMap<String, Option<String>>,
}

impl Runs {
    fn of(events: &str) -> Self {
        let mut runs = Self::default();
        for line in events.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            if let Some(requested) = payload(&event, "check_requested") {
                runs.checks.insert(word(&requested["run"]), word(&requested["check"]));
            }
            if let Some(finished) = payload(&event, "check_finished") {
                let verdict = finished["ending"]["judged"]["verdict"].as_str().map(str::to_owned);
                let before = runs.ends.insert(word(&finished["run"]), verdict);
                assert!(before.is_none(), "it ended twice: {line}");
            }
        }
        runs
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The content of an event of this type.
fn payload<'a>(line: &'a Value, kind: &str) -> Option<&'a Value> {
    let event = &line["event"];
    (event["type"] == kind).then(|| &event["fact"])
}

/// What was counted over many kills.
struct Figures {
    kills: usize,
    reported: usize,
    /// Verdicts that were printed and are not in the log.
    lost: Vec<String>,
    /// Verdicts in the log that the check cannot have come to.
    invented: Vec<String>,
    interrupted: usize,
    processes_left: usize,
    checkouts_left: usize,
    took: Duration,
}

impl Figures {
    #[expect(clippy::print_stdout, reason = "the figures are what a full run is for")]
    fn print(&self) {
        let Self { kills, reported, lost, invented, interrupted, .. } = self;
        let Self { processes_left, checkouts_left, took, .. } = self;
        println!(
            "{kills} kills, {reported} verdicts printed, {} lost, {} invented, {interrupted} runs \
             interrupted, {processes_left} processes and {checkouts_left} checkouts left, {} s",
            lost.len(),
            invented.len(),
            took.as_secs(),
        );
    }
}

/// Starts checks and kills each at a random moment; returns the verdicts that were printed.
fn kill_checks(project: &Project) -> BTreeMap<String, String> {
    let (work, store) = (project.path("work"), project.store());
    let mut chance = Chance::new(SEED);
    let mut reported = BTreeMap::new();
    for round in 0..kills() {
        let name = ["good", "bad", "copied"][round % 3];
        let place = ["--dir", text(&work), "--storage-dir", text(&store)];
        let words = [&["check", name, "--fresh", "--json"], &place[..]].concat();
        let mut command = program::muster(&words);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        thread::sleep(Duration::from_millis(chance.below(DELAY_MAX_MS)));
        child.kill().unwrap();
        let printed = child.wait_with_output().unwrap().stdout;
        if let Ok(report) = serde_json::from_slice::<Value>(&printed) {
            let row = &report["checks"][0];
            reported.insert(word(&row["run"]), word(&row["verdict"]));
        }
    }
    reported
}

/// Verdicts in the log that no run of the check can explain: another one than the check always
/// has, or more passes than runs came to their end.
fn invented(runs: &Runs, ended: usize) -> Vec<String> {
    let expected = |run: &str| if runs.checks[run] == "bad" { "failed" } else { "passed" };
    let known = runs.ends.iter().filter_map(|(run, verdict)| Some((run, verdict.as_ref()?)));
    let (passed, failed): (Vec<_>, Vec<_>) = known.partition(|(_, verdict)| *verdict == "passed");
    let wrong = passed.iter().chain(&failed).filter(|(run, verdict)| *verdict != expected(run));
    let wrong = wrong.map(|(run, verdict)| format!("{run} of {}: {verdict}", runs.checks[*run]));
    let surplus = passed.len().checked_sub(ended + 1).map(|more| format!("{} passes", more + 1));
    wrong.chain(surplus).collect()
}

#[test]
fn no_kill_loses_or_invents_a_verdict_takes_time() {
    let began = Instant::now();
    let marker = format!("52{}", std::process::id());
    let project = Project::new("");
    let ended = project.path("ended");
    let checks = format!(
        "workspace = \"acme\"\n[checks.good]\nrun = \"sh test.sh; echo x >> ../ended\"\n\
         [checks.bad]\nrun = \"sh test.sh; exit 1\"\n[checks.copied]\n\
         run = \"sh test.sh; echo x >> '{}'\"\nclean = true\n",
        text(&ended)
    );
    project.write("muster.toml", &checks);
    project.write("test.sh", &format!("(setsid sleep {marker} &)\nsleep 0.2\n"));
    project.trust("yes");
    let reported = kill_checks(&project);
    assert!(!project.check(&["bad"]).status.success(), "and what is left of the last is ended");
    let runs = Runs::of(&project.exported("export"));
    assert_eq!(runs.checks.len(), runs.ends.len(), "every run has ended");
    let checkouts = fs::read_dir(project.store().join("checks/clean"));
    let left =
        checkouts.into_iter().flatten().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    let lost = reported.iter().filter(|(run, verdict)| runs.ends[*run].as_ref() != Some(verdict));
    let ended = fs::read_to_string(ended).map_or(0, |ended| ended.lines().count());
    let figures = Figures {
        kills: kills(),
        reported: reported.len(),
        lost: lost.map(|(run, verdict)| format!("{run}: {verdict}")).collect(),
        invented: invented(&runs, ended),
        interrupted: runs.ends.values().filter(|verdict| verdict.is_none()).count(),
        processes_left: running(&marker),
        checkouts_left: left.count(),
        took: began.elapsed(),
    };
    figures.print();
    assert_eq!((figures.lost, figures.invented), (Vec::new(), Vec::new()));
    assert_eq!((figures.processes_left, figures.checkouts_left), (0, 0));
    assert!(figures.interrupted > 0, "some kills came in the middle");
    project.is_sound();
}
