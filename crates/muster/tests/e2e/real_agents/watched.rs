//! Sessions of real agents that a person starts, as their hooks report them (HOST-WATCH-2).

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use muster_testkit::model::{Progress, Step};
use serde_json::{Value, json};

use super::{cli::Cli, person::Person};
use crate::program::{answer, run};

/// How long reports may come after their agent has ended: opencode's are made beside it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A session that was watched to its end.
struct Watched {
    session: Value,
    plan: Value,
    events: Vec<Value>,
}

fn asked(store: &str, words: &[&str]) -> Value {
    let output = run(&[words, &["--storage-dir", store]].concat());
    assert!(output.status.success(), "{output:?}");
    answer(&output)
}

/// Two entries, in the words of the agent.
fn plan(cli: Cli) -> Vec<Step> {
    if cli != Cli::Claude {
        return vec![Step::plan(&[("read it", Progress::Done), ("write it", Progress::Begun)])];
    }
    let create = |name: &str| json!({"subject": name, "description": name});
    let update = |id: &str, status: &str| json!({"taskId": id, "status": status});
    vec![
        Step::tool("TaskCreate", &create("read it")),
        Step::tool("TaskCreate", &create("write it")),
        Step::tool("TaskUpdate", &update("1", "completed")),
        Step::tool("TaskUpdate", &update("2", "in_progress")),
    ]
}

impl Watched {
    /// Lets an agent make a plan, run a command and say something.
    fn of(cli: Cli) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for name in ["home", "store", "work"] {
            fs::create_dir(place(name)).unwrap();
        }
        fs::write(place("work").join("muster.toml"), "workspace = \"rocket\"\n").unwrap();
        let person = Person::new(cli, (&place("home"), &place("work"), &place("store")));
        let script =
            [plan(cli), vec![Step::shell("echo made > made.txt"), Step::say("It is made.")]];
        let (said, _) = person.follow(script.concat());
        let store = place("store").display().to_string();
        let began = Instant::now();
        loop {
            let sessions = asked(&store, &["sessions", "--json"]);
            let session = sessions[0].clone();
            let is_over = session["status"] == "idle" || session["status"] == "completed";
            if is_over && session["todos"]["total"] == 2 {
                assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}\n{said}");
                assert_eq!(session["directory"], place("work").to_str().unwrap(), "{session}");
                return Self::read(&store, session);
            }
            assert!(began.elapsed() < PATIENCE, "{sessions}\n{said}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn read(store: &str, session: Value) -> Self {
        let id = session["session_id"].as_str().unwrap().to_owned();
        let todos = asked(store, &["todo", "show", &id, "--scope", "plan", "--json"]);
        let export =
            run(&["session", "watch", &id, "--replay", "--once", "--json", "--storage-dir", store]);
        let lines = crate::program::stdout(&export);
        let events = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Self { session, plan: todos["scopes"][0]["items"].clone(), events }
    }

    fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.events
            .iter()
            .filter(|event| event["type"] == kind)
            .map(|event| &event["data"])
            .collect()
    }

    /// What holds for every agent.
    fn is_whole(&self, cli: Cli) {
        let Self { session, plan, .. } = self;
        assert_eq!(
            (&session["host"], &session["workspace"]),
            (&json!(cli.name()), &json!("rocket"))
        );
        assert_eq!((&session["doing"], &session["waiting"]), (&Value::Null, &Value::Null));
        let items: Vec<_> =
            plan.as_array().unwrap().iter().map(|item| (&item["title"], &item["status"])).collect();
        assert_eq!(
            items,
            [(&json!("read it"), &json!("done")), (&json!("write it"), &json!("in_progress"))]
        );
        let prompts = self.of_type("user_message");
        assert!(
            prompts[0]["text"].as_str().unwrap().contains("Do what the script says."),
            "{prompts:?}"
        );
        let said = self.of_type("assistant_message");
        let last = said.last().unwrap()["text"].as_str().unwrap();
        assert!(last.trim_end().ends_with("It is made."), "{said:?}");
        let calls = self.of_type("tool_call");
        let is_shell = |call: &&&Value| call["call"].to_string().contains("made.txt");
        let shell = calls.iter().find(is_shell).unwrap_or_else(|| panic!("{calls:?}"));
        let results = self.of_type("tool_result");
        assert!(results.iter().any(|result| result["call_id"] == shell["call_id"]), "{results:?}");
        assert_eq!(self.of_type("turn_start").len(), self.of_type("turn_end").len());
    }
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn host_watch_2_claude_is_watched() {
    let watched = Watched::of(Cli::Claude);
    watched.is_whole(Cli::Claude);
    assert!(watched.session["host_version"].is_string(), "{}", watched.session);
    assert!(watched.session["ended"]["reason"].is_string(), "{}", watched.session);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn host_watch_2_codex_is_watched() {
    let watched = Watched::of(Cli::Codex);
    watched.is_whole(Cli::Codex);
    assert!(watched.session["host_version"].is_string(), "{}", watched.session);
    assert_eq!(watched.session["model"], "scripted", "{}", watched.session);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn host_watch_2_gemini_is_watched() {
    let watched = Watched::of(Cli::Gemini);
    watched.is_whole(Cli::Gemini);
    assert!(watched.session["ended"]["reason"].is_string(), "{}", watched.session);
}

// It is installed for this kind of machine only.
#[cfg(target_arch = "x86_64")]
#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn host_watch_2_opencode_is_watched() {
    let watched = Watched::of(Cli::Opencode);
    watched.is_whole(Cli::Opencode);
    assert!(watched.session["host_version"].is_string(), "{}", watched.session);
}
