//! Muster is killed at random moments of a check: no verdict that was printed is lost, none is made
//! up, and no process is left. `MUSTER_TEST_FULL=1` asks for many more kills.

use std::{collections::BTreeMap, fs, process::Stdio, thread, time::Duration};

use muster_testkit::faults::Chance;
use serde_json::Value;

use super::{Project, is_running, text};
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

#[test]
fn no_kill_loses_or_invents_a_verdict_takes_time() {
    let marker = format!("52{}", std::process::id());
    let checks = format!(
        "workspace = \"acme\"\n[checks.good]\nrun = \"sh test.sh; echo x >> ../ended\"\n\
         [checks.bad]\nrun = \"sh test.sh; exit 1\"\n[checks.copied]\n\
         run = \"sh test.sh; echo x >> '{}'\"\nclean = true\n",
        "MARKED"
    );
    let project = Project::new("");
    let ended = project.path("ended");
    project.write("muster.toml", &checks.replace("MARKED", text(&ended)));
    project.write("test.sh", &format!("(setsid sleep {marker} &)\nsleep 0.2\n"));
    project.trust("yes");
    let (work, store) = (project.path("work"), project.store());
    let mut chance = Chance::new(SEED);
    let mut told: BTreeMap<String, String> = BTreeMap::new();
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
            told.insert(word(&row["run"]), word(&row["verdict"]));
        }
    }
    assert!(!project.check(&["bad"]).status.success(), "and what is left of the last is ended");
    assert!(!is_running(&marker));
    let checkouts = fs::read_dir(store.join("checks/clean"));
    let left =
        checkouts.into_iter().flatten().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(left.count(), 0);
    let runs = Runs::of(&project.exported("export"));
    assert_eq!(runs.checks.len(), runs.ends.len(), "every run has ended");
    for (run, verdict) in &told {
        assert_eq!(runs.ends[run].as_ref(), Some(verdict), "{run} was lost");
    }
    let mut passed = 0;
    for (run, verdict) in &runs.ends {
        let Some(verdict) = verdict else { continue };
        let expected = if runs.checks[run] == "bad" { "failed" } else { "passed" };
        assert_eq!(verdict, expected, "{run} of {}", runs.checks[run]);
        passed += usize::from(verdict == "passed");
    }
    let ended = fs::read_to_string(ended).map_or(0, |ended| ended.lines().count());
    assert!(passed <= ended, "{passed} passes of {ended} runs that came to their end");
    assert!(runs.ends.len() > told.len(), "some kills came in the middle");
    project.is_sound();
}
