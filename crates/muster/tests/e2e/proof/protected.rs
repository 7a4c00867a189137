//! An agent that has changed a protected file and wants its task done without a person's look. Each
//! way is tried on a task of its own whose checks pass; only the files are in the way.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{PROJECT, Proving, call, copy_tree, ok, standing, start};
use crate::{
    agent::{Agent, Caller as _},
    program,
    terminal::{alone, at_a_terminal_where},
};

const CONTRACT: &str = "contract/a.json";
const STRICT: &str = "{\"strict\": true}\n";
const WEAK: &str = "{\"strict\": null}\n";

struct Cheat<'a> {
    stage: &'a Proving,
    agent: Agent,
    task: String,
}

type Way = fn(&mut Cheat<'_>);

/// By name. Afterwards all ways to complete the task are tried.
const WAYS: [(&str, Way); 22] = [
    ("edit it", |c| c.stage.write(CONTRACT, WEAK)),
    ("delete it", |c| fs::remove_file(c.stage.work().join(CONTRACT)).unwrap()),
    ("add one more", |c| c.stage.write("contract/b.json", "{}\n")),
    ("make it a link to a file with the same bytes", |c| {
        c.stage.write("copy.json", STRICT);
        fs::remove_file(c.stage.work().join(CONTRACT)).unwrap();
        symlink("../copy.json", c.stage.work().join(CONTRACT)).unwrap();
    }),
    ("make its folder a link", |c| {
        let (folder, other) = (c.stage.work().join("contract"), c.stage.work().join("other"));
        fs::rename(&folder, &other).unwrap();
        symlink("other", &folder).unwrap();
    }),
    ("make it executable", |c| {
        let file = c.stage.work().join(CONTRACT);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("the same size and the same time", |c| {
        let file = c.stage.work().join(CONTRACT);
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        c.stage.write(CONTRACT, WEAK);
        fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    }),
    ("commit the change", |c| {
        c.stage.write(CONTRACT, WEAK);
        c.stage.commit();
    }),
    ("commit it as ignored", |c| {
        c.stage.write(".gitignore", "contract\n");
        c.stage.git(&["rm", "-q", "--cached", CONTRACT]);
        c.stage.commit();
        c.stage.write(CONTRACT, WEAK);
    }),
    ("hide it from git's index", |c| {
        c.stage.git(&["update-index", "--assume-unchanged", CONTRACT]);
        c.stage.write(CONTRACT, WEAK);
    }),
    ("take the protection out of the project file", |c| {
        c.stage.write(CONTRACT, WEAK);
        c.stage.write("muster.toml", PROJECT);
    }),
    ("remove the project file", |c| {
        c.stage.write(CONTRACT, WEAK);
        fs::remove_file(c.stage.work().join("muster.toml")).unwrap();
        c.agent = c.stage.agent();
    }),
    ("accept another project file without a terminal", |c| {
        c.stage.write(CONTRACT, WEAK);
        c.stage.write("muster.toml", PROJECT);
        let work = c.stage.work();
        c.without_a_terminal(&["trust", work.to_str().unwrap()]);
    }),
    ("review without a terminal", |c| {
        c.stage.write(CONTRACT, WEAK);
        let task = c.task.clone();
        c.without_a_terminal(&["review", &task]);
        c.without_a_terminal(&["review", &task, "--yes"]);
    }),
    ("review over MCP", |c| {
        c.stage.write(CONTRACT, WEAK);
        c.try_("tasks_step", json!({"path": "s:0", "action": "review"}));
        let review = json!([{"tool": "tasks_review", "args": {"task": c.task}}]);
        call(&mut c.agent, "tasks_batch", json!({"operations": review}));
        c.try_("tasks_check", json!({"checks": ["protected files"]}));
    }),
    ("ask for a waiver of it", |c| {
        c.stage.write(CONTRACT, WEAK);
        let waive = json!({"reason": "it is fine"});
        c.try_("tasks_check", json!({"checks": ["protected files"], "waive": waive}));
    }),
    ("call itself a person", |c| {
        c.stage.write(CONTRACT, WEAK);
        let variables = [("MUSTER_AS", "ada"), ("USER", "root")];
        c.agent = Agent::start_at(&c.stage.store(), &c.stage.work(), &variables);
    }),
    ("complete from an untouched copy", |c| {
        let copy = c.stage.path("copy");
        copy_tree(&c.stage.work(), &copy);
        c.stage.write(CONTRACT, WEAK);
        c.agent = Agent::start_at(&c.stage.store(), &copy, &[]);
        c.complete();
        fs::remove_dir_all(&copy).unwrap();
    }),
    ("complete from an untouched worktree", |c| {
        let tree = c.stage.path("tree");
        c.stage.git(&["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
        c.stage.write(CONTRACT, WEAK);
        c.agent = Agent::start_at(&c.stage.store(), &tree, &[]);
        c.complete();
        c.stage.git(&["worktree", "remove", "--force", tree.to_str().unwrap()]);
    }),
    ("complete from a project below", |c| {
        c.stage.write(CONTRACT, WEAK);
        let below = c.stage.work().join("below");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("muster.toml"), "workspace = \"acme\"\n").unwrap();
        c.agent = Agent::start_at(&c.stage.store(), &below, &[]);
        c.complete();
        fs::remove_dir_all(&below).unwrap();
    }),
    ("complete it, reopen it, change, and redo", |c| {
        c.try_("tasks_complete", json!({}));
        c.try_("tasks_edit", json!({"status": "ACTIVE"}));
        c.try_("tasks_complete", json!({"status": "ACTIVE"}));
        c.stage.write(CONTRACT, WEAK);
        c.try_("tasks_undo", json!({"anyone": true}));
        c.try_("tasks_redo", json!({}));
        c.try_("tasks_redo", json!({}));
    }),
    ("with a command instead of a tool", |c| {
        c.stage.write(CONTRACT, WEAK);
        let task = c.task.clone();
        c.without_a_terminal(&["call", "tasks_complete", "--task", &task, "--workspace", "acme"]);
    }),
];

impl Cheat<'_> {
    fn try_(&mut self, operation: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!(super::WORKSPACE);
        arguments["task"] = json!(self.task);
        self.agent.call(operation, &arguments).unwrap()
    }

    /// Everything that makes a task DONE.
    fn complete(&mut self) {
        let done = json!([{"op": "set", "field": "status", "value": "DONE"}]);
        for (operation, arguments) in [
            ("tasks_complete", json!({})),
            ("tasks_complete", json!({"force": true})),
            ("tasks_macro_finish", json!({})),
            ("tasks_close_task", json!({"apply": true})),
            ("tasks_macro_close_step", json!({})),
            ("tasks_edit", json!({"status": "DONE"})),
            ("tasks_patch", json!({"ops": done})),
            ("tasks_patch", json!({"ops": done, "force": true})),
        ] {
            self.try_(operation, arguments);
        }
        for atomic in [true, false] {
            let complete = json!({"tool": "tasks_complete", "args": {"task": self.task}});
            let finish = json!({"tool": "tasks_macro_finish", "args": {"task": self.task}});
            let operations = json!([complete, finish]);
            let arguments = json!({"operations": operations, "atomic": atomic});
            call(&mut self.agent, "tasks_batch", arguments);
        }
    }

    fn without_a_terminal(&self, words: &[&str]) {
        let mut command = program::muster(words);
        command.arg("--storage-dir").arg(self.stage.store());
        command.current_dir(self.stage.work()).stdin(Stdio::null());
        alone(command);
    }
}

impl Proving {
    /// With a contract that is protected.
    fn protecting() -> Self {
        let project = format!("{PROJECT}\n[protect]\npaths = [\"contract/**\"]\n");
        let stage = Self::with_files(&project, |work| {
            fs::create_dir(work.join("contract")).unwrap();
            fs::write(work.join(CONTRACT), STRICT).unwrap();
        });
        stage.write("state.txt", "good\n");
        stage.commit();
        stage.git(&["tag", "base"]);
        stage
    }

    /// As it was before a cheat.
    fn reset(&self) {
        for name in ["contract", ".git/index"] {
            let place = self.work().join(name);
            fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place)).unwrap();
        }
        self.git(&["reset", "-q", "--hard", "base"]);
        self.git(&["clean", "-qfdx"]);
    }

    fn review(&self, task: &str, reply: &str) -> String {
        let dialog = [("Type yes or no: ", format!("{reply}\r"))];
        let dialog: Vec<(&str, &str)> = dialog.iter().map(|(ask, say)| (*ask, &**say)).collect();
        at_a_terminal_where(&self.store(), &format!("review {task}"), &dialog, |script| {
            script.current_dir(self.work());
        })
    }
}

/// A task whose one step is closed on green checks.
fn ready(stage: &Proving) -> (Agent, String) {
    let mut agent = stage.agent();
    let task = start(&mut agent, "tests");
    ok(&mut agent, "tasks_macro_close_step", json!({"task": task}));
    assert_eq!(standing(&mut agent, &task), (false, true));
    (agent, task)
}

#[test]
fn no_way_around_a_persons_look_at_protected_files() {
    let stage = Proving::protecting();
    for (name, way) in WAYS {
        let (agent, task) = ready(&stage);
        let mut cheat = Cheat { stage: &stage, agent, task };
        way(&mut cheat);
        cheat.complete();
        cheat.agent = stage.agent();
        cheat.complete();
        let (is_done, _) = standing(&mut stage.agent(), &cheat.task);
        assert!(!is_done, "{name}: the task is DONE");
        stage.reset();
        let finished = call(&mut stage.agent(), "tasks_complete", json!({"task": cheat.task}));
        assert_eq!(
            finished["success"], true,
            "{name}: only the files were in the way {finished:#}"
        );
    }
}

#[test]
fn a_person_sees_the_change_and_lets_the_task_be_done() {
    let stage = Proving::protecting();
    let (mut agent, task) = ready(&stage);
    stage.write(CONTRACT, WEAK);
    let refused = call(&mut agent, "tasks_complete", json!({"task": task}));
    assert_eq!(refused["error"]["details"]["checks"][0]["state"], "review", "{refused:#}");
    let no = stage.review(&task, "no");
    assert!(no.contains("Nothing was changed") && no.contains("code=1"), "{no}");
    let refused = call(&mut agent, "tasks_complete", json!({"task": task}));
    assert_eq!(refused["error"]["code"], "CHECK_REQUIRED");
    let yes = stage.review(&task, "yes");
    for line in ["changed contract/a.json", "-{\"strict\": true}", "+{\"strict\": null}", "code=0"]
    {
        assert!(yes.contains(line), "{line}: {yes}");
    }
    ok(&mut agent, "tasks_complete", json!({"task": task}));
    let proof = ok(&mut agent, "tasks_proof", json!({"task": task}));
    assert_eq!(proof["protected"]["state"], "passed");
    assert_eq!(proof["protected"]["seen_by"]["kind"], "person");
    let doctor = program::run(&["doctor", "--storage-dir", stage.store().to_str().unwrap()]);
    assert!(doctor.status.success());
}
