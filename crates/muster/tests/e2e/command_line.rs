//! The command line as people and scripts meet it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{answer, muster, run, run_with_input, stderr, stdout};

/// Runs `muster call` on a store.
fn call(storage_dir: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut words = vec!["call"];
    words.extend_from_slice(arguments);
    words.extend_from_slice(&["--storage-dir", storage_dir.to_str().unwrap()]);
    let output = run(&words);
    (output.status.code(), answer(&output))
}

/// Runs the program and expects it to refuse the command line, naming each of `hints`.
fn assert_usage_error(arguments: &[&str], hints: &[&str]) {
    let output = run(arguments);
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
    for hint in hints {
        assert!(complaint.contains(hint), "{arguments:?} does not say {hint:?}: {complaint}");
    }
}

#[test]
fn help_of_every_command_reads_well() {
    for (name, arguments) in [
        ("help", &["--help"][..]),
        ("help_short", &["-h"]),
        ("help_serve", &["serve", "--help"]),
        ("help_mcp", &["mcp", "--help"]),
        ("help_call", &["call", "--help"]),
        ("help_call_create", &["call", "tasks_create", "--help"]),
        ("help_call_define", &["call", "tasks_define", "--help"]),
        ("help_tasks", &["tasks", "--help"]),
        ("help_tasks_show", &["tasks", "show", "--help"]),
        ("help_handoff", &["handoff", "--help"]),
        ("help_explain", &["explain", "--help"]),
        ("help_hook", &["hook", "--help"]),
        ("help_hook_stop", &["hook", "stop", "--help"]),
        ("help_providers", &["providers", "--help"]),
        ("help_worktrees", &["worktrees", "--help"]),
        ("help_worktrees_merge", &["worktrees", "merge", "--help"]),
        ("help_init", &["init", "--help"]),
        ("help_waive", &["waive", "--help"]),
        ("help_review", &["review", "--help"]),
        ("help_proof", &["proof", "--help"]),
        ("help_gate", &["gate", "--help"]),
        ("help_setup", &["setup", "--help"]),
        ("help_export", &["export", "--help"]),
        ("help_import", &["import", "--help"]),
        ("help_doctor", &["doctor", "--help"]),
        ("help_backup", &["backup", "--help"]),
        ("help_compact", &["compact", "--help"]),
        ("help_status", &["status", "--help"]),
        ("help_config", &["config", "--help"]),
        ("help_config_show", &["config", "show", "--help"]),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        for other in ["BRANCHMIND", "BREADBOARD"] {
            // These variables work, but are not for people.
            assert!(!stdout(&output).contains(other), "{arguments:?}");
        }
        insta::assert_snapshot!(name, stdout(&output));
    }
}

#[test]
fn the_version_is_printed_without_a_store() {
    let output = muster(&["--version"]).env_remove("HOME").output().unwrap();
    assert_eq!(stdout(&output), format!("muster {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_command_lines_are_refused_with_the_fix() {
    assert_usage_error(&["serv"], &["serve"]);
    assert_usage_error(&["serve", "--port", "1"], &["--port"]);
    assert_usage_error(&["serve", "--addr", "localhost"], &["--addr", "localhost"]);
    assert_usage_error(&["mcp", "--toolset", "all"], &["core, daily, full"]);
    assert_usage_error(&["mcp", "--nonsense"], &["--nonsense"]);
    assert_usage_error(&["call", "tasks_create"], &["--workspace"]);
    assert_usage_error(
        &["call", "tasks_context", "--workspace", "w", "--nonsense"],
        &["--nonsense"],
    );
    let limit = ["call", "tasks_delta", "--workspace", "w", "--limit", "many"];
    assert_usage_error(&limit, &["--limit", "not a whole number"]);
    let json = ["call", "tasks_context", "--json", "{\"workspace\":"];
    assert_usage_error(&json, &["--json", "column"]);
    assert_usage_error(&["call", "tasks_context", "--json", "[]"], &["not an object"]);
}

#[test]
fn a_bad_workspace_or_filter_ends_the_program_with_a_message() {
    for (variable, value) in
        [("MUSTER_WORKSPACE", "no blanks"), ("BRANCHMIND_WORKSPACE", ""), ("MUSTER_LOG", "=,=[")]
    {
        let output = muster(&["mcp"]).env(variable, value).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{variable}");
        assert!(stderr(&output).contains(variable), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "stdout belongs to the protocol");
    }
    let output = run(&["mcp", "--workspace", "-x"]);
    assert_ne!(output.status.code(), Some(0));
}

#[test]
fn without_a_home_the_storage_directory_must_be_named() {
    let mut command = muster(&["doctor"]);
    for variable in ["HOME", "XDG_DATA_HOME", "APPDATA"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--storage-dir"), "{}", stderr(&output));
}

#[test]
fn the_storage_directory_comes_from_flag_environment_or_home() {
    let home = tempfile::tempdir().unwrap();
    let create = ["call", "tasks_create", "--workspace", "w", "--kind", "plan", "--title", "Here"];
    let wanted = home.path().join("from-home/muster");
    let output =
        muster(&create).env("XDG_DATA_HOME", home.path().join("from-home")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(wanted.is_dir());
    let named = home.path().join("named");
    let output = muster(&create).env("MUSTER_STORAGE_DIR", &named).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (_, context) = call(&named, &["tasks_context", "--workspace", "w"]);
    assert!(context.to_string().contains("Here"), "{context}");
    // The flag wins over the variable, before and after the tool.
    let other = home.path().join("other");
    let flag = ["--storage-dir", other.to_str().unwrap()];
    let before = [&flag[..], &["call", "tasks_context", "--workspace", "w"]].concat();
    let output = muster(&before).env("MUSTER_STORAGE_DIR", &named).output().unwrap();
    assert!(!stdout(&output).contains("Here"), "{}", stdout(&output));
}

#[test]
fn flags_become_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path();
    let (code, plan) = call(
        store,
        &["tasks_create", "--workspace", "w", "--kind", "plan", "--title", "-dashed title"],
    );
    assert_eq!((code, &plan["success"]), (Some(0), &json!(true)), "{plan}");
    let steps = r#"[{"title":"Write","success_criteria":["compiles"],"tests":["cargo test"]}]"#;
    let task =
        ["tasks_create", "--workspace=w", "--parent", "PLAN-001", "--title", "T", "--steps", steps];
    assert_eq!(call(store, &task).0, Some(0));
    let tags =
        ["tasks_edit", "--workspace", "w", "--task", "TASK-001", "--tags", "a", "--tags", "b"];
    assert_eq!(call(store, &tags).0, Some(0));
    let by_target =
        ["tasks_radar", "--workspace", "w", "--target", r#"{"id":"TASK-001"}"#, "--read-only"];
    let (code, radar) = call(store, &by_target);
    assert_eq!(code, Some(0), "{radar}");
    assert!(radar.to_string().contains("Write"), "{radar}");
    let verify = ["tasks_verify", "--workspace", "w", "--task", "TASK-001", "--path", "s:0"];
    let (code, verified) = call(store, &[&verify[..], &["--checkpoints", "gate"]].concat());
    assert_eq!(code, Some(0), "{verified}");
    let (_, listed) = call(store, &["tasks_context", "--workspace", "w", "--tags", r#"["a","b"]"#]);
    assert_eq!(listed["result"]["counts"]["tasks"], 1, "{listed}");
    let (code, delta) = call(store, &["tasks_delta", "--workspace", "w", "--since", "1"]);
    assert_eq!(code, Some(0), "{delta}");
    for spelling in ["--expected-revision", "--expected_revision"] {
        let note = [
            "tasks_edit",
            "--workspace",
            "w",
            "--task",
            "TASK-001",
            "--title",
            "x",
            spelling,
            "99",
        ];
        let (code, answer) = call(store, &note);
        assert_eq!((code, &answer["error"]["code"]), (Some(1), &json!("REVISION_MISMATCH")));
    }
}

#[test]
fn json_comes_from_the_flag_or_from_stdin_with_flags_on_top() {
    let directory = tempfile::tempdir().unwrap();
    let storage_dir = directory.path().to_str().unwrap();
    let base = ["call", "tasks_create", "--storage-dir", storage_dir, "--json"];
    let plan = json!({"workspace": "w", "kind": "plan", "title": "From JSON"}).to_string();
    let output = run(&[&base[..], &[&plan]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let on_top = [&base[..], &["-", "--title", "From the flag"]].concat();
    let output = run_with_input(&on_top, &plan);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let (_, context) = call(directory.path(), &["tasks_context", "--workspace", "w"]);
    let text = context.to_string();
    assert!(text.contains("From JSON") && text.contains("From the flag"), "{text}");
}

#[test]
fn answers_are_one_line_in_a_pipe_and_refusals_exit_with_one() {
    let directory = tempfile::tempdir().unwrap();
    let storage_dir = directory.path().to_str().unwrap();
    let output = run(&["call", "tasks_context", "--workspace", "w", "--storage-dir", storage_dir]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output).trim_end().lines().count(), 1);
    assert_eq!(stderr(&output), "");
    let (code, unknown) = call(directory.path(), &["tasks_creat", "--workspace", "w"]);
    assert_eq!((code, &unknown["error"]["code"]), (Some(1), &json!("UNKNOWN_TOOL")), "{unknown}");
    assert!(unknown["error"].to_string().contains("tasks_create"), "{unknown}");
    let (code, missing) =
        call(directory.path(), &["tasks_radar", "--workspace", "w", "--task", "TASK-404"]);
    assert_eq!((code, &missing["error"]["code"]), (Some(1), &json!("UNKNOWN_ID")), "{missing}");
}

#[test]
fn the_environment_names_the_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let storage_dir = directory.path().to_str().unwrap();
    let context = ["call", "tasks_context", "--storage-dir", storage_dir];
    for (variables, expected) in [
        (&[("MUSTER_WORKSPACE", "one")][..], "one"),
        (&[("BRANCHMIND_WORKSPACE", "two")], "two"),
        (&[("MUSTER_WORKSPACE", "one"), ("BRANCHMIND_WORKSPACE", "two")], "one"),
    ] {
        let output = muster(&context).envs(variables.iter().copied()).output().unwrap();
        assert_eq!(answer(&output)["context"]["workspace"], expected, "{}", stdout(&output));
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = muster(&["openapi"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn doctor_tells_a_sound_store_from_a_damaged_one() {
    let directory = tempfile::tempdir().unwrap();
    let storage_dir = directory.path().to_str().unwrap();
    let create = ["tasks_create", "--workspace", "w", "--kind", "plan", "--title", "As written"];
    call(directory.path(), &create);
    let sound = run(&["doctor", "--storage-dir", storage_dir]);
    assert_eq!(sound.status.code(), Some(0), "{}{}", stdout(&sound), stderr(&sound));
    assert!(stdout(&sound).contains("sound"), "{}", stdout(&sound));
    let report = answer(&run(&["doctor", "--json", "--storage-dir", storage_dir]));
    assert_eq!((&report["sound"], &report["damage"]), (&json!(true), &json!([])), "{report}");

    // One of the two places that hold the title: the log or the document.
    let file = database(directory.path());
    let mut bytes = std::fs::read(&file).unwrap();
    let title = b"As written";
    let at = bytes.windows(title.len()).position(|window| window == title).unwrap();
    bytes[at..at + title.len()].copy_from_slice(b"Falsified!");
    std::fs::write(&file, bytes).unwrap();
    let damaged = run(&["doctor", "--storage-dir", storage_dir]);
    assert_eq!(damaged.status.code(), Some(1), "{}", stdout(&damaged));
    assert!(stdout(&damaged).contains("PLAN-001"), "{}", stdout(&damaged));
    let report = answer(&run(&["doctor", "--json", "--storage-dir", storage_dir]));
    assert_eq!(report["sound"], false, "{report}");
    assert!(!report["damage"].as_array().unwrap().is_empty(), "{report}");
}

#[test]
fn a_folder_without_a_store_is_neither_sound_nor_copied() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("nowhere");
    let storage_dir = nowhere.to_str().unwrap();
    let copy = directory.path().join("copy");
    for command in [&["doctor"][..], &["backup", copy.to_str().unwrap()]] {
        let output = run(&[command, &["--storage-dir", storage_dir]].concat());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(stderr(&output).contains("there is no store"), "{}", stderr(&output));
    }
    assert!(!nowhere.exists() && !copy.exists());
}

/// The file in a storage directory that is a database.
fn database(storage_dir: &Path) -> PathBuf {
    let mut files = std::fs::read_dir(storage_dir).unwrap().map(|entry| entry.unwrap().path());
    let is_database = |path: &PathBuf| {
        std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3"))
    };
    files.find(is_database).unwrap()
}

#[test]
fn a_backup_is_a_whole_store() {
    let directory = tempfile::tempdir().unwrap();
    let storage_dir = directory.path().join("store");
    call(&storage_dir, &["tasks_create", "--workspace", "w", "--kind", "plan", "--title", "Kept"]);
    let original = database(&storage_dir);
    let copy_dir = directory.path().join("copy");
    std::fs::create_dir(&copy_dir).unwrap();
    let copy = copy_dir.join(original.file_name().unwrap());
    let base = ["backup", copy.to_str().unwrap(), "--storage-dir", storage_dir.to_str().unwrap()];
    let output = run(&base);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (_, context) = call(&copy_dir, &["tasks_context", "--workspace", "w"]);
    assert!(context.to_string().contains("Kept"), "{context}");
    let again = run(&base);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("already exists"), "{}", stderr(&again));
}

#[test]
fn the_printed_document_and_reference_cover_every_tool() {
    let document = answer(&run(&["openapi"]));
    let reference = stdout(&run(&["reference"]));
    let paths = document["paths"].as_object().unwrap();
    let tools: Vec<&str> = paths.keys().filter_map(|path| path.strip_prefix("/api/ops/")).collect();
    assert!(tools.contains(&"tasks_create"), "{tools:?}");
    for tool in tools {
        assert!(reference.contains(&format!("## {tool}\n")), "{tool}");
        let help = run(&["call", tool, "--help"]);
        assert_eq!(help.status.code(), Some(0), "{tool}");
    }
}
