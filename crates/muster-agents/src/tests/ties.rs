//! What nodes send to each other, what belongs to a turn, and a store that cannot be written.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use muster_core::run::{
    Ask,
    command::{PutEdge, SettingsPatch},
    edge::Actor,
    turn::TurnReason,
};
use muster_store::{
    Damage, Description, MemoryStore, Store, StoreError, StoreSnapshot, Transaction,
};
use serde_json::Value;

use super::{RunFields, Stage, create, settings, with_settings};
use muster_engine::{Engine, ExecuteError, SystemClock};

use crate::Runs;

#[tokio::test(flavor = "multi_thread")]
async fn runs_pit_36_and_ref_2_and_ref_3_and_tie_5_what_a_handoff_names_can_be_opened() {
    let stage = Stage::set().await;
    let lead = stage.add("lead", "orchestrator");
    let node = stage.add("worker", "implementer");
    stage.ask(Ask::PutEdge(PutEdge::between(lead, node)));
    stage.say(lead, "final I have looked at everything");
    stage.ended(lead, 1).await;
    let send = format!(r#"tool send_handoff {{"to": "{node}", "message": "final taken"}}"#);
    stage.say(lead, &send);
    stage.ended(node, 1).await;
    let sent = stage.events_of("handoff.sent").remove(0);
    let reference = sent["envelope"]["contextRef"].as_str().unwrap().to_owned();
    let id = reference.strip_prefix("contextpack://pack/").unwrap();
    let pack: Value = serde_json::from_str(&stage.artifact(id.parse().unwrap())).unwrap();
    assert_eq!(pack["nodeId"], lead.to_string().as_str());
    let tree = pack["ctree"]["text"].as_str().unwrap();
    assert!(tree.contains("looked at everything"), "{tree}");
    assert_eq!(pack["repoFacts"]["changedFiles"], 0, "{pack}");
    assert!(pack["repoFacts"]["branch"].is_string() && pack["repoFacts"]["head"].is_string());
    let read = |stage: &Stage| -> usize {
        let answers = stage.events_of("message.assistant.final");
        let opened = answers.iter().filter(|event| event["nodeId"] == node.to_string().as_str());
        opened.map(|event| event["content"].as_str().unwrap().matches("packId").count()).sum()
    };
    for (before, name) in [reference.as_str(), &format!("artifact://{id}")].iter().enumerate() {
        stage.say(node, &format!(r#"tool read_artifact {{"ref": "{name}"}}"#));
        stage.until("it was read", |stage| read(stage) == before + 1).await;
    }
    let unknown = "artifact://0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f";
    stage.say(
        lead,
        &format!(
            r#"tool send_handoff {{"to": "{node}", "message": "x", "artifacts": ["{unknown}"]}}"#
        ),
    );
    let turns = stage.ended(lead, 3).await;
    assert!(stage.answer(&turns[2]).contains("refused"), "{}", stage.answer(&turns[2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_2_what_is_ignored_or_too_large_is_not_in_a_diff_and_no_hook_runs() {
    let stage = Stage::set().await;
    let work = stage.work();
    std::fs::write(work.join(".gitignore"), "skipped.txt\n").unwrap();
    let hook = work.join(".git/hooks/post-index-change");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\ntouch hooked\n").unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&hook).status().unwrap();
    let node = stage.add("worker", "implementer");
    stage.say(
        node,
        "run echo x > skipped.txt; run head -c 6000000 /dev/zero > large.bin; \
         run echo y > seen.txt; final done",
    );
    let turns = stage.ended(node, 1).await;
    let diff = stage.runs.artifact(stage.run, turns[0].artifacts.diff.unwrap()).unwrap();
    let diff = diff.metadata.diff.unwrap();
    assert_eq!(diff.files_changed, ["seen.txt"]);
    assert_eq!(diff.skipped, ["large.bin"]);
    assert!(!work.join("hooked").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_turn_7_a_program_says_whether_and_when_it_can_be_asked_again() {
    let patch = SettingsPatch { retry_max: Some(2), ..SettingsPatch::default() };
    let stage = Stage::set_with(|_| {}, with_settings(patch)).await;
    let never = stage.add("never", "implementer");
    let later = stage.add("later", "implementer");
    stage.say(never, "fail provider_error never");
    stage.ended(never, 1).await;
    assert_eq!(stage.node(never).retry, None, "it said that it is of no use");
    stage.say(later, "fail rate_limited 700000");
    let turns = stage.ended(later, 1).await;
    assert_eq!(turns[0].reason, Some(TurnReason::RateLimited));
    let retry = stage.node(later).retry.unwrap();
    let pause = retry.at.ms() - turns[0].ended_at.unwrap().ms();
    assert!((550_000..=850_000).contains(&pause), "{pause}");
}

/// A store that can be switched to refuse.
struct Moody {
    inner: MemoryStore,
    refuses: AtomicBool,
}

impl Moody {
    /// Refuses every write from now on. A group that is under way ends first: it would take in
    /// what arrives meanwhile.
    fn refuse(&self) {
        let last = self.inner.begin().unwrap();
        self.refuses.store(true, Ordering::SeqCst);
        drop(last);
    }
}

impl Store for Moody {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>, StoreError> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(StoreError::Full { location: "here".to_owned() });
        }
        self.inner.begin()
    }

    fn is_free(&self) -> bool {
        self.inner.is_free()
    }

    fn snapshot(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError> {
        self.inner.snapshot()
    }

    fn position(&self) -> Result<u64, StoreError> {
        self.inner.position()
    }

    fn rest(&self) -> Result<(), StoreError> {
        self.inner.rest()
    }

    fn backup(&self, target: &Path) -> Result<(), StoreError> {
        self.inner.backup(target)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        self.inner.check()
    }

    fn describe(&self) -> Description {
        self.inner.describe()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_ev_3_without_a_store_nothing_happens_and_nothing_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    let work = dir.path().join("work");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::create_dir_all(&settings.home).unwrap();
    let store = Arc::new(Moody { inner: MemoryStore::default(), refuses: AtomicBool::new(false) });
    let engine = Engine::new(Arc::clone(&store) as Arc<dyn Store>, Arc::new(SystemClock), false);
    let runs = Runs::start(Arc::new(engine), settings.clone()).await.unwrap();
    let run = create(&runs, &work, RunFields::default());
    let stage = Stage { dir, runs, run, settings };
    stage.until("the run works", super::running).await;
    let node = stage.add("worker", "implementer");
    store.refuse();
    let before = stage.events().len();
    let message = || Ask::SendMessage {
        node: Some(node),
        content: "final done".to_owned(),
        interrupt: false,
        id: None,
    };
    let refused = stage.runs.ask(run, Actor::USER, message());
    assert!(matches!(refused, Err(ExecuteError::Store(_))), "{refused:?}");
    assert_eq!((stage.events().len(), stage.turns(node).len()), (before, 0));
    store.refuses.store(false, Ordering::SeqCst);
    stage.ask(message());
    let turns = stage.ended(node, 1).await;
    assert_eq!(stage.answer(&turns[0]), "done");
    stage.runs.shut_down().await;
}
