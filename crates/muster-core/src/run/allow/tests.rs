//! What rules allow, and what a hostile agent tries to get past them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    AllowCommand, AllowPattern, AllowRefusal, AllowRules, AllowScope, AskedCall, PlacedCall, glob,
    programs, shell,
};
use crate::{
    Author, AuthorKind, AuthorSurface, CallFacts, Documents, Draft, Env, LogPosition, Timestamp,
    WorkRefusal,
    run::{
        id::{AllowRuleId, ApprovalId, NodeId, RunId, ToolId},
        turn::{Executor, Tool},
    },
};

const WORKDIR: &str = "/home/ada/project";

fn call(name: &str, args: Value) -> AskedCall {
    let Value::Object(args) = args else { panic!("{args} is not an object") };
    let tool = Tool {
        id: ToolId(1),
        name: name.to_owned(),
        args,
        provider_id: None,
        executor: Executor::Provider,
    };
    AskedCall::of_tool(&tool)
}

fn permits(pattern: &AllowPattern, name: &str, args: Value) -> bool {
    let placed = PlacedCall::new(call(name, args), WORKDIR);
    placed.is_some_and(|placed| pattern.permits(&placed))
}

fn begins(words: &str) -> AllowPattern {
    AllowPattern::Command { words: words.split(' ').map(str::to_owned).collect() }
}

fn runs(pattern: &AllowPattern, line: &str) -> bool {
    permits(pattern, "Bash", json!({"command": line, "description": "x"}))
}

fn files(glob: &str) -> AllowPattern {
    AllowPattern::Files { glob: glob.to_owned() }
}

#[test]
fn people_att_4_first_words_allow_more_words_and_nothing_else() {
    let status = begins("git status");
    for line in [
        "git status",
        "git status -s",
        " git  status\t'a b' ",
        "git 'status' \"x\"",
        "g\"i\"t status",
    ] {
        assert!(runs(&status, line), "{line}");
    }
    for line in [
        "git statusx",
        "git",
        "git -C /x status",
        "git log",
        "gitstatus",
        "/tmp/git status",
        "./git status",
        "sudo git status",
        "env git status",
        "GIT_PAGER=sh git status",
        "git status; rm -rf .",
        "git status && rm a",
        "git status || rm a",
        "git status | sh",
        "git status > .bashrc",
        "git status < x",
        "git status & rm a",
        "git status `rm a`",
        "git status $(rm a)",
        "git status \"$(rm a)\"",
        "git status \"`rm a`\"",
        "git status\nrm a",
        "git status\rrm a",
        "git status $HOME",
        "git status ~",
        "git status *",
        "git status a?",
        "git status [a]",
        "git status {a,b}",
        "git status #x",
        "git status !x",
        "git status \\",
        "git status 'a",
        "git status \"a",
        "(git status)",
        "{ git status; }",
        "! git status",
        "git status \"a\\\" ; rm a\"",
        "git status 'a\nb'",
        "git status\u{0}",
        "git status\u{85}rm",
        "",
        " ",
        "git status ^a",
        "git status ;",
        "git status a=$(b)",
        "''git",
        "'' git status",
    ] {
        assert!(!runs(&status, line), "{line:?}");
    }
}

#[test]
fn a_line_is_allowed_character_by_character_with_its_operators() {
    let line = "cargo fmt && cargo test 2>&1 | tail -5";
    let pattern = AllowPattern::Line { line: line.to_owned() };
    assert!(runs(&pattern, line) && runs(&pattern, &format!(" {line}\n")));
    for other in ["cargo fmt", "cargo fmt && cargo test", "cargo fmt  && cargo test 2>&1 | tail -5"]
    {
        assert!(!runs(&pattern, other), "{other}");
    }
    assert!(!runs(&pattern, &format!("{line}; rm a")));
}

#[test]
fn a_command_is_the_same_however_a_program_writes_it() {
    let test = begins("cargo test");
    let asks = |name: &str, args: Value| permits(&test, name, args);
    assert!(asks("shell", json!({"command": "cargo test -p a", "cwd": WORKDIR})));
    assert!(asks(
        "shell",
        json!({"command": ["cargo", "test", "a b"], "workdir": format!("{WORKDIR}/sub")})
    ));
    assert!(asks("shell", json!({"command": ["bash", "-lc", "cargo test"]})));
    assert!(asks("shell", json!({"command": "/bin/bash -lc 'cargo test'"})));
    assert!(asks("command", json!({"cmd": "cargo test", "cwd": "./sub/", "timeoutSeconds": 5})));
    // Words of a list that a shell would not read as such are not words.
    assert!(!asks("shell", json!({"command": ["cargo", "test", "$(rm a)\n"]})));
    assert!(!asks("shell", json!({"command": ["bash", "-c", "cargo test; rm a"]})));
    assert!(!asks("shell", json!({"command": ["bash", "-c", "cargo test", "rm"]})));
    for elsewhere in ["/", "/home/ada/projects", "/home/ada", "..", "sub/../..", "", "a\nb"] {
        let args = json!({"command": "cargo test", "cwd": elsewhere});
        assert!(!asks("shell", args), "{elsewhere:?}");
    }
}

#[test]
fn what_is_not_known_completely_is_not_allowed() {
    let test = begins("cargo test");
    for args in [
        json!({"command": "cargo test", "with_escalated_permissions": true}),
        json!({"command": "cargo test", "dangerouslyDisableSandbox": true}),
        json!({"command": "cargo test", "env": {"PATH": "/tmp"}}),
        json!({"command": "cargo test", "cmd": "rm a"}),
        json!({"command": "cargo test", "cwd": ".", "workdir": "/"}),
        json!({"command": "cargo test", "cwd": 7}),
        json!({"command": ["cargo", 7]}),
        json!({"command": {"line": "cargo test"}}),
        json!({"command": "cargo test '<redacted>'"}),
        json!({}),
    ] {
        assert!(!permits(&test, "Bash", args.clone()), "{args}");
    }
    // The same words for another tool may do anything.
    for name in ["mcp__prod__Bash", "mcp__prod__run", "Bashx", "bash2", "Write", "tool"] {
        assert!(!permits(&test, name, json!({"command": "cargo test"})), "{name}");
    }
}

#[test]
fn programs_that_run_their_arguments_are_allowed_only_whole() {
    for line in [
        "sh x.sh",
        "bash x.sh",
        "env ls",
        "sudo ls",
        "xargs rm",
        "find . -delete",
        "rm -r target",
        "curl x",
        "npx --yes x",
        "npm exec x",
        "docker run x",
        "docker exec a sh",
        "uv run x",
        "git -c a=b status",
        "git config core.pager x",
        "python -c pass",
        "node -e 1",
        "perl -e 1",
        "make -f x",
        "cd /",
        "time ls",
        "nohup ls",
        "/usr/bin/env ls",
        "timeout 5 ls",
        "git",
        "npm",
        "python3",
        "kubectl exec a",
        "cargo +x test",
    ] {
        let words = shell::words(line).unwrap();
        assert_eq!(programs::fewest_words(&words), None, "{line}");
        for length in 1..=words.len() {
            let pattern = AllowPattern::Command { words: words[..length].to_vec() };
            assert!(!runs(&pattern, line), "{line}");
        }
        assert!(runs(&AllowPattern::Line { line: line.to_owned() }, line));
    }
    let fewest = |line: &str| programs::fewest_words(&shell::words(line).unwrap());
    assert_eq!(fewest("cargo test -p a"), Some(2));
    assert_eq!(fewest("npm run build"), Some(3));
    assert_eq!(fewest("python3.12 x.py"), Some(2));
    assert_eq!(fewest("python -m pytest -q"), Some(3));
    assert_eq!((fewest("pytest -q"), fewest("./test.sh a")), (Some(1), Some(1)));
    assert!(begins("git").check().is_err() && begins("bash").check().is_err());
    assert!(begins("git status").check().is_ok());
}

#[test]
fn files_are_allowed_below_the_directory_and_by_spelled_names() {
    let src = files("src/**");
    let writes = |path: &str| permits(&src, "Write", json!({"file_path": path, "content": "x"}));
    for path in ["src/a.rs", "src/a/b/c", "./src//a", "/home/ada/project/src/a"] {
        assert!(writes(path), "{path}");
    }
    for path in [
        "src",
        "srcs/a",
        "a/src/b",
        "../project/src/a",
        "src/../.git/config",
        "src/..",
        "/src/a",
        "src/.env",
        "/home/ada/projects/src/a",
        "/home/ada/project/../project/src/a",
        "src/.git/hooks/x",
        "src/a\nb",
        "",
        "src/.x/a",
        "Src/a",
    ] {
        assert!(!writes(path), "{path:?}");
    }
    for guarded in [".git/config", "a/.GIT/config", ".muster/x"] {
        let write = json!({"path": guarded, "content": "x"});
        assert!(!permits(&files(guarded), "write_file", write), "{guarded}");
    }
    assert!(permits(&files(".env"), "write_file", json!({"path": ".env", "content": "x"})));
    assert!(!permits(&src, "Write", json!({"file_path": "src/a", "path": "/etc/passwd"})));
    assert!(!permits(&src, "Write", json!({"file_path": "src/a", "target": "b"})));
    assert!(!permits(&src, "Write", json!({"content": "x"})));
    assert!(!permits(&src, "mcp__x__Write", json!({"file_path": "src/a"})));
}

#[test]
fn a_patch_is_allowed_if_all_its_files_are() {
    let src = files("src/*.rs");
    let patch = |body: &str| {
        let text = format!("*** Begin Patch\n{body}\n*** End Patch");
        permits(&src, "apply_patch", json!({"command": text}))
    };
    assert!(patch(
        "*** Update File: src/a.rs\n@@\n-a\n+b\n*** Add File: src/b.rs\n+*** Add File: x"
    ));
    assert!(patch("*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-a\n+b\n*** End of File"));
    for body in [
        "*** Update File: src/a.rs\n*** Add File: .bashrc\n+x",
        "*** Update File: src/a.rs\n*** Move to: build.rs\n-a",
        "*** Update File: src/a.rs\n *** Add File: src/b.rs",
        "*** Update File: src/a.rs\n***Add File: x",
        "*** Update File: src/a.rs \n-a",
        "*** End Patch\n*** Add File: x",
        "*** Environment: x\n*** Update File: src/a.rs",
        "nothing",
    ] {
        assert!(!patch(body), "{body}");
    }
    let changes = |value: Value| permits(&src, "apply_patch", json!({ "changes": value }));
    assert!(changes(json!([{"path": "src/a.rs", "kind": {"type": "update"}, "diff": "x"}])));
    assert!(changes(json!({"src/a.rs": {"update": {"unified_diff": "x", "move_path": null}}})));
    assert!(!changes(json!([{"path": "src/a.rs", "kind": {"type": "update", "move_path": "x"}}])));
    assert!(!changes(json!({"src/a.rs": {"update": {"move_path": "../x"}}})));
    assert!(!changes(json!([{"path": "src/a.rs", "also": "x"}])));
    assert!(!changes(json!([{"path": "src/a.rs"}, {"path": "x"}])));
    assert!(!changes(json!([])) && !changes(json!("src/a.rs")));
}

#[test]
fn a_tool_is_allowed_by_its_whole_name_unless_it_could_do_anything() {
    let tool = |name: &str| AllowPattern::Tool { name: name.to_owned() };
    assert!(permits(&tool("WebSearch"), "WebSearch", json!({"query": "x"})));
    assert!(!permits(&tool("WebSearch"), "WebSearch2", json!({})));
    for name in ["Bash", "shell", "Write", "apply_patch", "other", "execute", ""] {
        assert!(tool(name).check().is_err(), "{name}");
        assert!(
            !permits(&tool(name), name, json!({"command": "ls", "path": "a", "content": ""})),
            "{name}"
        );
    }
}

#[test]
fn a_glob_stays_within_names_and_leaves_out_dots() {
    let all = [
        ("*.rs", "a.rs", true),
        ("*.rs", "a/b.rs", false),
        ("**/*.rs", "a.rs", true),
        ("**/*.rs", "a/b/c.rs", true),
        ("**", "a/b", true),
        ("**", ".a", false),
        ("**/a", "b/.c/a", false),
        ("a/**/b/**/c", "a/b/x/c", true),
        ("a/**/c", "a/b/d", false),
        ("?", "ab", false),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxb", false),
        ("[a]", "a", false),
        ("[a]", "[a]", true),
        (".*", ".env", true),
        ("*", ".env", false),
        ("a/**", "a", false),
    ];
    for (pattern, path, covers) in all {
        assert_eq!(glob::covers(pattern, path), covers, "{pattern} {path}");
    }
    for bad in ["", "/a", "a/", "a//b", "../a", "a/./b", "a**", "a\nb", "**a/b"] {
        assert!(glob::fault(bad).is_some(), "{bad:?}");
    }
}

/// What an agent could write after words that are allowed.
fn tail() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just(" ".to_owned()),
        Just("'".to_owned()),
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("; rm a".to_owned()),
        Just("$(rm a)".to_owned()),
        Just("`rm a`".to_owned()),
        Just("&&".to_owned()),
        Just("\n".to_owned()),
        Just(">x".to_owned()),
        Just("|sh".to_owned()),
        Just("${x}".to_owned()),
        Just("<(x)".to_owned()),
        Just("\u{a0}".to_owned()),
        Just("#".to_owned()),
        "[a-z./=-]{1,6}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
}

/// Whether a shell would read anything but words: a reference that looks at each character with
/// the quote that it is in.
fn has_syntax(line: &str) -> bool {
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (_, control) if control.is_control() && control != '\t' => return true,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), end) if open == end => quote = None,
            (Some('"'), '$' | '`' | '\\') => return true,
            (None, special) if ";&|<>()$`\\*?[]{}~!#^".contains(special) => return true,
            (_, _) => {}
        }
    }
    quote.is_some()
}

proptest! {
    #[test]
    fn no_command_with_syntax_is_allowed_by_its_first_words(
        tail in tail(),
        space in any::<bool>(),
    ) {
        let line = format!("cargo test{}{tail}", if space { " " } else { "" });
        let allowed = runs(&begins("cargo test"), &line);
        prop_assert!(!allowed || !has_syntax(&line), "{line:?}");
        if allowed {
            let words = shell::words(&line).unwrap();
            prop_assert_eq!(&words[..2], ["cargo", "test"]);
        }
    }

    #[test]
    fn quoted_words_are_read_back(words in proptest::collection::vec("[^\\p{Cc}]{1,8}", 1..5)) {
        let mut line = vec!["ls".to_owned()];
        line.extend(words);
        let text: Vec<String> = line.iter().map(|word| shell::quote(word)).collect();
        // A quote inside of a word needs a backslash, which makes the line unclear.
        if !line.iter().any(|word| word.contains('\'')) {
            prop_assert_eq!(shell::words(&text.join(" ")).unwrap(), line);
        }
    }

    #[test]
    fn no_path_leads_out_of_the_directory(path in "[a./~ -]{0,12}|/home/ada/project[a./]{0,8}") {
        let args = json!({"path": path, "content": ""});
        let placed = PlacedCall::new(call("write_file", args), WORKDIR);
        for place in placed.into_iter().flat_map(|placed| placed.places) {
            prop_assert!(!place.starts_with('/') && !place.split('/').any(|name| name == ".."));
        }
    }

    #[test]
    fn reading_any_arguments_never_panics(
        name in "[A-Za-z_]{0,12}|Bash|apply_patch|Write",
        text in ".{0,40}",
        key in "command|path|changes|patch|x",
    ) {
        let mut args = Map::new();
        args.insert(key, Value::String(text));
        let _ = PlacedCall::new(call(&name, Value::Object(args)), WORKDIR);
    }
}

#[test]
fn rules_are_made_counted_and_removed() {
    let by = Author::new(AuthorKind::Person, "ada", AuthorSurface::Cli);
    let call = CallFacts { by: Some(by.clone().into()), ..CallFacts::default() };
    let env = Env { now: Timestamp(1_000), call };
    let mut docs = Documents::<AllowRules>::complete();
    let mut draft = Draft::new(&mut docs, LogPosition::default(), env);
    let id = AllowRuleId(1);
    let run = RunId(7);
    let make = |id, allows| AllowCommand::Make {
        id,
        scope: AllowScope::Node { run_id: run, node_id: NodeId(8) },
        allows,
        approval: ApprovalId(9),
    };
    let bad = draft.apply(&make(id, begins("sudo ls"))).unwrap_err();
    assert!(
        matches!(bad, WorkRefusal::Rejected(bad) if matches!(*bad, AllowRefusal::BadPattern(_)))
    );
    draft.apply(&make(id, begins("cargo test"))).unwrap();
    assert_eq!(
        draft.apply(&make(AllowRuleId(2), begins("cargo test"))).unwrap().len(),
        0,
        "the same"
    );
    draft.apply(&AllowCommand::Use { id, run, approval: ApprovalId(3) }).unwrap();
    let rules = AllowRules::all(draft.documents()).unwrap();
    let [rule] = &rules[..] else { panic!("{rules:?}") };
    assert_eq!((rule.uses, &rule.by, rule.number), (1, &Some(by), 1));
    assert_eq!(rule.last_used_at, Some(Timestamp(1_000).into()));
    draft.apply(&AllowCommand::ForgetRun { run: RunId(6) }).unwrap();
    assert_eq!(AllowRules::all(draft.documents()).unwrap().len(), 1, "another run's");
    draft.apply(&AllowCommand::ForgetRun { run }).unwrap();
    assert_eq!(AllowRules::all(draft.documents()).unwrap(), []);
    let gone = draft.apply(&AllowCommand::Remove { id }).unwrap_err();
    assert_eq!(gone, WorkRefusal::rejected(AllowRefusal::UnknownRule { id }));
}
