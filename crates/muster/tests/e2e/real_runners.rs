//! Real test runners: what they print is understood, whether tests pass, fail or do not exist.
//!
//! `cargo xtask test --stage outside` installs some of them and runs these; one that is not
//! installed and cannot be is left out there, with the reason.

#![cfg(target_os = "linux")]

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::checks::Project;

/// Names the folder of the runners that were installed for these tests.
const FOLDER: &str = "MUSTER_TEST_RUNNERS";
/// Names the Node that runs those of them that need one.
const NODE: &str = "MUSTER_TEST_NODE";

/// A suite that passes, fails or has no tests.
struct Suite {
    run: Vec<String>,
    /// Files of the project besides the tests.
    files: &'static [(&'static str, &'static str)],
    /// The file with the tests, and its content for each verdict.
    file: &'static str,
    /// Two that pass and one that is skipped.
    passing: &'static str,
    /// One that passes and one that fails.
    failing: &'static str,
    /// None that runs, in one way or another.
    empty: &'static [&'static str],
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// A program of those that were installed for these tests.
fn installed(words: &[&str]) -> Vec<String> {
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
    let place = |word: &&str| match word.strip_prefix("./") {
        Some(path) => folder.join(path).to_str().unwrap().to_owned(),
        None => (*word).to_owned(),
    };
    words.iter().map(place).collect()
}

fn node() -> String {
    env::var(NODE).unwrap_or("node".to_owned())
}

const IGNORED: &str = "target/\n__pycache__/\nnode_modules/\n";

/// Commits what the project has.
fn commit(work: &Path) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"];
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
        let mut git = Command::new("git");
        assert!(git.args(identity).args(words).current_dir(work).status().unwrap().success());
    }
}

/// Verdict, passed, failed and skipped tests.
fn judged(project: &Project, suite: &Suite, content: &str) -> (Value, [Value; 3]) {
    project.write(suite.file, content);
    let row = project.row(&[]);
    let counts = ["passed", "failed", "skipped"].map(|name| row["tests"][name].clone());
    (row["verdict"].clone(), counts)
}

/// Runs a suite with each content and compares verdicts and counts.
fn is_understood(suite: &Suite) {
    let project = Project::new(&format!("[checks.tests]\nrun = {}\n", json!(suite.run)));
    std::fs::create_dir(project.path("work/src")).unwrap();
    for (name, text) in suite.files {
        project.write(name, text);
    }
    project.write(".gitignore", IGNORED);
    commit(&project.path("work"));
    project.trust("yes");
    let expected = |verdict: &str, counts: [u64; 3]| (json!(verdict), counts.map(Value::from));
    assert_eq!(judged(&project, suite, suite.passing), expected("passed", [2, 0, 1]));
    assert_eq!(judged(&project, suite, suite.failing), expected("failed", [1, 1, 0]));
    for content in suite.empty {
        let (verdict, [passed, failed, _]) = judged(&project, suite, content);
        assert_eq!((verdict, passed, failed), (json!("empty"), json!(0), json!(0)), "{content}");
    }
    project.is_sound();
}

fn rust(line: &str) -> Suite {
    Suite {
        run: words(line),
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                 [workspace]\n",
            ),
            ("Cargo.lock", "version = 4\n[[package]]\nname = \"sample\"\nversion = \"0.1.0\"\n"),
        ],
        file: "src/lib.rs",
        passing: "#[test] fn a() {}\n#[test] fn b() {}\n#[test] #[ignore] fn c() {}\n",
        failing: "#[test] fn a() {}\n#[test] fn b() { panic!(\"no\") }\n",
        empty: &["", "#[test] #[ignore] fn c() {}\n"],
    }
}

#[test]
#[ignore = "a stage of its own: cargo xtask test --stage outside"]
fn cargo_test() {
    is_understood(&rust("cargo test --offline --lib"));
}

#[test]
#[ignore = "a stage of its own: cargo xtask test --stage outside"]
fn cargo_nextest() {
    is_understood(&rust("cargo nextest run --offline --no-tests pass"));
}

#[test]
#[ignore = "a stage of its own: cargo xtask test --stage outside"]
fn node_test() {
    is_understood(&Suite {
        run: vec![node(), "--test".to_owned()],
        files: &[],
        file: "a.test.mjs",
        passing: "import test from 'node:test';\ntest('a', () => {});\ntest('b', () => {});\n\
                  test.skip('c', () => {});\n",
        failing: "import test from 'node:test';\ntest('a', () => {});\n\
                  test('b', () => { throw new Error('no'); });\n",
        empty: &["import test from 'node:test';\ntest.skip('c', () => {});\n"],
    });
}

#[test]
#[ignore = "a stage of its own: cargo xtask test --stage outside"]
fn pytest() {
    is_understood(&Suite {
        run: installed(&["./python/bin/python", "-m", "pytest", "-p", "no:cacheprovider"]),
        files: &[],
        file: "test_a.py",
        passing: "import pytest\ndef test_a(): pass\ndef test_b(): pass\n\
                  @pytest.mark.skip\ndef test_c(): pass\n",
        failing: "def test_a(): pass\ndef test_b(): assert False\n",
        empty: &["import pytest\n@pytest.mark.skip\ndef test_c(): pass\n"],
    });
}

#[test]
#[ignore = "a stage of its own: cargo xtask test --stage outside"]
fn go_test() {
    is_understood(&Suite {
        run: words("go test -v ./..."),
        files: &[("go.mod", "module example.org/sample\n\ngo 1.19\n")],
        file: "a_test.go",
        passing: "package sample\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n\
                  func TestB(t *testing.T) {}\nfunc TestC(t *testing.T) { t.Skip() }\n",
        failing: "package sample\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n\
                  func TestB(t *testing.T) { t.Fatal(\"no\") }\n",
        empty: &[
            "package sample\n",
            "package sample\n\nimport \"testing\"\n\nfunc TestC(t *testing.T) { t.Skip() }\n",
        ],
    });
}

const SCRIPT_PASSING: &str =
    "test('a', () => {});\ntest('b', () => {});\ntest.skip('c', () => {});\n";
const SCRIPT_FAILING: &str = "test('a', () => {});\ntest('b', () => { throw new Error('no'); });\n";

#[test]
#[ignore = "a stage of its own: cargo xtask test --stage outside"]
fn vitest() {
    let program = ["./node/node_modules/vitest/vitest.mjs", "run", "--globals"];
    is_understood(&Suite {
        run: [vec![node()], installed(&program)].concat(),
        files: &[],
        file: "a.test.mjs",
        passing: SCRIPT_PASSING,
        failing: SCRIPT_FAILING,
        empty: &["test.skip('c', () => {});\n"],
    });
}

#[test]
#[ignore = "a stage of its own: cargo xtask test --stage outside"]
fn jest() {
    let program = ["./node/node_modules/jest/bin/jest.js", "--rootDir", "."];
    is_understood(&Suite {
        run: [vec![node()], installed(&program)].concat(),
        files: &[],
        file: "a.test.js",
        passing: SCRIPT_PASSING,
        failing: SCRIPT_FAILING,
        empty: &["test.skip('c', () => {});\n"],
    });
}
