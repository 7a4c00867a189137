//! An agent that wants its step closed although the check fails. Each way is tried on a task of its
//! own; afterwards the step has to be open and the task not DONE.

use std::{fs, os::unix::fs::symlink, process::Stdio, thread, time::Duration};

use serde_json::{Value, json};

use super::{Proving, call, copy_tree, ok, standing, start};
use crate::{
    agent::{Agent, Caller as _},
    program,
};

struct Cheat<'a> {
    stage: &'a Proving,
    agent: Agent,
    task: String,
}

type Way = fn(&mut Cheat<'_>);

/// By name. Answers are not looked at: only what is left counts.
const WAYS: [(&str, Way); 36] = [
    ("close at once", |c| {
        c.try_("tasks_close_step", json!({"checkpoints": "gate", "path": "s:0"}));
    }),
    ("close with everything confirmed", |c| {
        c.try_("tasks_close_step", json!({"checkpoints": "all", "path": "s:0"}));
    }),
    ("an empty macro", |c| drop(c.try_("tasks_macro_close_step", json!({})))),
    ("receipts of a run that never was", |c| {
        c.try_(
            "tasks_macro_close_step",
            json!({"proof": ["CMD: sh tests", "LINK: https://ci.example.org/1"]}),
        );
    }),
    ("evidence of the kind that checks leave", |c| {
        let item = json!({"kind": "check", "check": "tests", "run": "CHK-000001", "exit_code": 0});
        let items = json!([item]);
        c.try_(
            "tasks_evidence_capture",
            json!({"path": "s:0", "items": items, "checkpoint": "tests"}),
        );
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("confirm, then done", |c| {
        c.try_("tasks_verify", json!({"path": "s:0", "checkpoints": "all"}));
        c.try_("tasks_done", json!({"path": "s:0"}));
    }),
    ("confirm entry by entry, then done", |c| {
        let each = json!({"criteria": [{"index": 0}], "tests": [{"index": 0, "evidence": "seen"}]});
        c.try_("tasks_verify", json!({"path": "s:0", "checkpoints": each}));
        c.try_("tasks_done", json!({"path": "s:0"}));
    }),
    ("force", |c| {
        c.try_("tasks_progress", json!({"path": "s:0", "completed": true, "force": true}));
    }),
    ("force with a reason", |c| {
        c.try_(
            "tasks_progress",
            json!({"path": "s:0", "completed": true, "force": true, "reason": "urgent"}),
        );
    }),
    ("force after confirming", |c| {
        c.try_("tasks_verify", json!({"path": "s:0", "checkpoints": "gate"}));
        c.try_("tasks_progress", json!({"path": "s:0", "completed": true, "force": true}));
    }),
    ("complete the task", |c| drop(c.try_("tasks_complete", json!({})))),
    ("finish the task", |c| drop(c.try_("tasks_macro_finish", json!({})))),
    ("close the task with patches", |c| {
        c.try_("tasks_close_task", json!({"apply": true}));
    }),
    ("rewrite the check in the project file", |c| {
        c.stage.write("muster.toml", "workspace = \"acme\"\n[checks.tests]\nrun = \"true\"\n");
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("take the check out of the project file", |c| {
        c.stage.write("muster.toml", "workspace = \"acme\"\n");
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("remove the project file", |c| {
        fs::remove_file(c.stage.work().join("muster.toml")).unwrap();
        c.agent = c.stage.agent();
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("a project file of its own below", |c| {
        let below = c.stage.work().join("below");
        fs::create_dir_all(&below).unwrap();
        fs::write(
            below.join("muster.toml"),
            "workspace = \"acme\"\n[checks.tests]\nrun = \"true\"\n",
        )
        .unwrap();
        c.agent = Agent::start_at(&c.stage.store(), &below, &[]);
        c.try_("tasks_macro_close_step", json!({}));
        fs::remove_dir_all(&below).unwrap();
    }),
    ("take the check off the step", |c| {
        c.try_("tasks_define", json!({"path": "s:0", "checks": []}));
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("exchange the check", |c| {
        c.try_("tasks_define", json!({"path": "s:0", "checks": ["other"]}));
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("patch the check away", |c| {
        let ops = json!([{"op": "set", "field": "checks", "value": []}]);
        c.try_("tasks_patch", json!({"path": "s:0", "ops": ops}));
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("delete the step and close another", |c| {
        c.try_("tasks_delete", json!({"path": "s:0"}));
        let steps = json!([{"title": "Easy", "success_criteria": ["yes"]}]);
        c.try_("tasks_decompose", json!({"steps": steps}));
        // The easy step may close; what the deleted one had to pass is left to the task.
        let closed = c.try_("tasks_macro_close_step", json!({}));
        assert_eq!(closed["success"], true, "{closed:#}");
        c.must_not_complete();
        c.try_("tasks_decompose", json!({"steps": steps}));
    }),
    ("an atomic batch", |c| c.batch(true)),
    ("a batch", |c| c.batch(false)),
    ("redo a close of better days", |c| {
        c.in_good_state(|c| drop(c.try_("tasks_macro_close_step", json!({}))));
        c.try_("tasks_undo", json!({}));
        c.try_("tasks_progress", json!({"path": "s:0", "completed": false}));
        c.try_("tasks_redo", json!({}));
    }),
    ("close on a green tree, finish on a red one", |c| {
        c.in_good_state(|c| drop(c.try_("tasks_macro_close_step", json!({}))));
        // The step is closed by a pass; the task is what must not be DONE.
        c.must_not_complete();
        c.try_("tasks_progress", json!({"path": "s:0", "completed": false}));
    }),
    ("a green copy of the project", |c| {
        let copy = c.stage.path("copy");
        copy_tree(&c.stage.work(), &copy);
        fs::write(copy.join("state.txt"), "good\n").unwrap();
        c.agent = Agent::start_at(&c.stage.store(), &copy, &[]);
        c.try_("tasks_macro_close_step", json!({}));
        fs::remove_dir_all(&copy).unwrap();
    }),
    ("a link to a green copy in the place of the project", |c| {
        let (copy, real) = (c.stage.path("copy"), c.stage.path("real"));
        copy_tree(&c.stage.work(), &copy);
        fs::write(copy.join("state.txt"), "good\n").unwrap();
        let link = c.stage.path("link");
        symlink(&copy, &link).unwrap();
        c.agent = Agent::start_at(&c.stage.store(), &link, &[]);
        c.try_("tasks_macro_close_step", json!({}));
        fs::remove_file(&link).unwrap();
        fs::remove_dir_all(&copy).unwrap();
        assert!(!real.exists());
    }),
    ("a green worktree", |c| {
        let tree = c.stage.path("tree");
        c.stage.git(&["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
        fs::write(tree.join("state.txt"), "good\n").unwrap();
        c.agent = Agent::start_at(&c.stage.store(), &tree, &[]);
        c.try_("tasks_macro_close_step", json!({}));
        c.stage.git(&["worktree", "remove", "--force", tree.to_str().unwrap()]);
    }),
    ("accept the checks without a terminal", |c| {
        c.stage.write("muster.toml", "workspace = \"acme\"\n[checks.tests]\nrun = \"true\"\n");
        let mut trust = program::muster(&["trust", "--storage-dir"]);
        trust.arg(c.stage.store()).arg(c.stage.work()).stdin(Stdio::null());
        crate::terminal::alone(trust);
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("call itself a person", |c| {
        let variables = [("MUSTER_AS", "ada"), ("USER", "root")];
        c.agent = Agent::start_at(&c.stage.store(), &c.stage.work(), &variables);
        c.try_("tasks_define", json!({"path": "s:0", "checks": []}));
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("ask for a waiver and go on", |c| {
        let waive = json!({"reason": "it is fine"});
        c.try_("tasks_check", json!({"path": "s:0", "checks": ["tests"], "waive": waive}));
        c.try_("tasks_macro_close_step", json!({}));
    }),
    ("a program of its own on a relative path", |c| {
        let tools = c.stage.work().join("tools");
        fs::create_dir_all(&tools).unwrap();
        fs::write(tools.join("grep"), "#!/bin/sh\nexit 0\n").unwrap();
        let mut mode = fs::metadata(tools.join("grep")).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        fs::set_permissions(tools.join("grep"), mode).unwrap();
        let path = format!("tools:{}", std::env::var("PATH").unwrap());
        c.agent = Agent::start_at(&c.stage.store(), &c.stage.work(), &[("PATH", &path)]);
        c.try_("tasks_macro_close_step", json!({}));
        fs::remove_dir_all(&tools).unwrap();
    }),
    ("hide the change behind .gitignore", |c| {
        c.after_a_pass(|c| {
            c.stage.write(".gitignore", "state.txt\n");
            c.stage.write("state.txt", "bad\n");
        });
        fs::remove_file(c.stage.work().join(".gitignore")).unwrap();
    }),
    ("hide the change from git's index", |c| {
        c.after_a_pass(|c| {
            c.stage.git(&["update-index", "--assume-unchanged", "state.txt"]);
            c.stage.write("state.txt", "bad\n");
        });
        c.stage.git(&["update-index", "--no-assume-unchanged", "state.txt"]);
    }),
    ("the same size and the same time", |c| {
        c.after_a_pass(|c| {
            let file = c.stage.work().join("state.txt");
            let before = fs::metadata(&file).unwrap().modified().unwrap();
            c.stage.write("state.txt", "evil\n");
            fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
        });
    }),
    ("flip the file while the check runs", |c| {
        let slow = start(&mut c.agent, "slow");
        c.stage.write("state.txt", "good\n");
        let arguments = json!({"task": slow, "wait_seconds": 0});
        call(&mut c.agent, "tasks_macro_close_step", arguments);
        thread::sleep(Duration::from_millis(300));
        c.stage.write("state.txt", "bad\n");
        call(&mut c.agent, "tasks_macro_close_step", json!({"task": slow}));
        assert_eq!(standing(&mut c.agent, &slow), (false, false), "the slow step is open");
    }),
];

impl Cheat<'_> {
    /// Calls an operation about the task.
    fn try_(&mut self, operation: &str, mut arguments: Value) -> Value {
        arguments["workspace"] = json!(super::WORKSPACE);
        arguments["task"] = json!(self.task);
        self.agent.call(operation, &arguments).unwrap()
    }

    /// Completes the task in all ways; a reopened step would hide that one of them worked.
    fn must_not_complete(&mut self) {
        for (operation, arguments) in [
            ("tasks_complete", json!({})),
            ("tasks_macro_finish", json!({})),
            ("tasks_close_task", json!({"apply": true})),
            ("tasks_macro_close_step", json!({})),
        ] {
            self.try_(operation, arguments);
        }
        let task = self.task.clone();
        assert_eq!(standing(&mut self.agent, &task), (false, true), "closed, but not DONE");
    }

    fn batch(&mut self, atomic: bool) {
        let step = json!({"task": self.task, "path": "s:0"});
        let with = |name: &str, more: Value| {
            let mut args = step.clone();
            args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"tool": name, "args": args})
        };
        let operations = json!([
            with("tasks_verify", json!({"checkpoints": "all"})),
            with("tasks_done", json!({})),
            with("tasks_progress", json!({"completed": true, "force": true})),
        ]);
        call(&mut self.agent, "tasks_batch", json!({"operations": operations, "atomic": atomic}));
    }

    fn in_good_state(&mut self, work: impl FnOnce(&mut Self)) {
        self.stage.write("state.txt", "good\n");
        work(self);
        self.stage.write("state.txt", "bad\n");
    }

    /// Lets the check pass, changes the files by stealth, and closes.
    fn after_a_pass(&mut self, stealth: impl FnOnce(&mut Self)) {
        self.stage.write("state.txt", "good\n");
        let checked =
            ok(&mut self.agent, "tasks_check", json!({"checks": ["tests"], "task": self.task}));
        assert_eq!(checked["holds"], true, "{checked:#}");
        stealth(self);
        self.try_("tasks_macro_close_step", json!({}));
    }
}

#[test]
fn no_way_around_a_failing_check() {
    let stage = Proving::new();
    for (name, way) in WAYS {
        stage.write("muster.toml", super::PROJECT);
        stage.write("state.txt", "bad\n");
        let mut agent = stage.agent();
        let task = start(&mut agent, "tests");
        let mut cheat = Cheat { stage: &stage, agent, task };
        way(&mut cheat);
        let mut judge = stage.agent();
        let (is_done, is_closed) = standing(&mut judge, &cheat.task);
        assert!(!is_done && !is_closed, "{name}: done {is_done}, closed {is_closed}");
    }
}
