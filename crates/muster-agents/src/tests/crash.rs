//! A server that is killed: what it has acknowledged is there, none of its processes is left alive,
//! and one call continues.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use muster_core::run::{
    id::RunId,
    node::NodeStatus,
    record::{RunStatus, StatusCode},
};

use super::{Stage, StatusWish, git, processes_of, scripted_agent, server, settings};

/// How often the server is killed by default.
const KILLS: u64 = 12;

/// A pseudo-random number that is the same every time.
fn chance(round: u64) -> u64 {
    let mixed = (round + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33
}

/// Runs the server until it is killed; returns what it has acknowledged, by number.
fn killed_after(dir: &std::path::Path, run: RunId, wait: Duration) -> BTreeMap<u64, String> {
    let agent = scripted_agent().remove(0);
    let program = std::path::Path::new(&agent).with_file_name("busy_server");
    let mut child = Command::new(program)
        .args([dir.join("home"), dir.join("work")])
        .args([run.to_string(), agent])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "started");
    let reading = std::thread::spawn(move || {
        let lines = lines.map_while(Result::ok);
        let acknowledged = lines.filter_map(|line| {
            let (seq, kind) = line.split_once(' ')?;
            Some((seq.parse().ok()?, kind.to_owned()))
        });
        acknowledged.collect()
    });
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap();
    reading.join().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_43_and_rec_1_and_gen_7_nothing_acknowledged_is_lost_by_a_kill_takes_time() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    std::fs::create_dir_all(dir.path().join("home")).unwrap();
    std::fs::create_dir(&work).unwrap();
    git(&work, &["init", "--quiet"]);
    let run = RunId(u128::from(std::process::id()) << 64 | 7);
    let kills = std::env::var("MUSTER_KILLS").ok().and_then(|text| text.parse().ok());
    let mut acknowledged = BTreeMap::new();
    for round in 0..kills.unwrap_or(KILLS) {
        let wait = Duration::from_millis(40 + chance(round) % 500);
        acknowledged.extend(killed_after(dir.path(), run, wait));
    }
    let settings = settings(dir.path());
    let runs = server(&settings).await;
    assert_eq!(processes_of(run), [].into(), "strays are killed at the start");
    let stage = Stage { dir, runs, run, settings };
    let events = stage.events();
    assert!(acknowledged.len() > 20, "only {} events", acknowledged.len());
    for (seq, kind) in &acknowledged {
        let event = &events[usize::try_from(*seq).unwrap() - 1];
        assert_eq!(event["type"], kind.as_str(), "event {seq}");
    }
    for event in events.iter().filter(|event| event["type"] == "artifact.created") {
        let path = event["artifact"]["path"].as_str().unwrap();
        assert!(std::path::Path::new(path).is_file(), "{path}");
    }
    if stage.record().status == RunStatus::Paused {
        let reason = stage.record().status_reason.unwrap();
        assert_eq!(reason.code, StatusCode::Restart);
        stage.wish(StatusWish::Running);
    }
    let rest = |stage: &Stage| {
        let ids = stage.nodes();
        ids.iter().all(|node| node.status == NodeStatus::Idle && node.queue.is_empty())
    };
    stage.until("everything is answered", rest).await;
    let open = |kind: &str| stage.events_of(kind).len();
    assert_eq!(open("tool.proposed"), open("tool.completed"));
    stage.runs.shut_down().await;
    assert_eq!(processes_of(run), [].into());
}
