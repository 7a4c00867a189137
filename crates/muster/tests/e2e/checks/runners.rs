//! Real test runners: what they print is understood. A runner that is not installed is skipped.

use std::{path::Path, process::Command};

use serde_json::{Value, json};

use super::Project;

/// A suite that passes, fails or has no tests.
struct Suite {
    name: &'static str,
    /// Tells whether the runner is installed.
    probe: &'static [&'static str],
    run: &'static str,
    /// The file with the tests, and its content for each verdict.
    file: &'static str,
    passing: &'static str,
    failing: &'static str,
    empty: &'static str,
}

const RUST_PASSING: &str = "#[test] fn a() {}\n#[test] fn b() {}\n#[test] #[ignore] fn c() {}\n";
const RUST_FAILING: &str = "#[test] fn a() {}\n#[test] fn b() { panic!(\"no\") }\n";

const SUITES: [Suite; 4] = [
    Suite {
        name: "cargo test",
        probe: &["cargo", "--version"],
        run: "cargo test --offline --lib",
        file: "src/lib.rs",
        passing: RUST_PASSING,
        failing: RUST_FAILING,
        empty: "",
    },
    Suite {
        name: "cargo nextest",
        probe: &["cargo", "nextest", "--version"],
        run: "cargo nextest run --offline --no-tests pass",
        file: "src/lib.rs",
        passing: RUST_PASSING,
        failing: RUST_FAILING,
        empty: "",
    },
    Suite {
        name: "node --test",
        probe: &["node", "--version"],
        run: "node --test",
        file: "a.test.mjs",
        passing: "import test from 'node:test';\ntest('a', () => {});\ntest('b', () => {});\n\
                  test.skip('c', () => {});\n",
        failing: "import test from 'node:test';\ntest('a', () => {});\n\
                  test('b', () => { throw new Error('no'); });\n",
        empty: "import test from 'node:test';\ntest.skip('c', () => {});\n",
    },
    Suite {
        name: "pytest",
        probe: &["python3", "-m", "pytest", "--version"],
        run: "python3 -m pytest -p no:cacheprovider",
        file: "test_a.py",
        passing: "import pytest\ndef test_a(): pass\ndef test_b(): pass\n\
                  @pytest.mark.skip\ndef test_c(): pass\n",
        failing: "def test_a(): pass\ndef test_b(): assert False\n",
        empty: "import pytest\n@pytest.mark.skip\ndef test_c(): pass\n",
    },
];

fn is_installed(suite: &Suite) -> bool {
    let probe = Command::new(suite.probe[0]).args(&suite.probe[1..]).output();
    probe.is_ok_and(|output| output.status.success())
}

fn git(work: &Path) {
    let init = Command::new("git").args(["init", "-q"]).current_dir(work).status().unwrap();
    assert!(init.success());
}

/// Verdict, passed, failed and skipped tests.
fn judged(project: &Project, suite: &Suite, content: &str) -> (Value, [Value; 3]) {
    project.write(suite.file, content);
    let row = project.row(&[]);
    let counts = ["passed", "failed", "skipped"].map(|name| row["tests"][name].clone());
    (row["verdict"].clone(), counts)
}

#[test]
fn what_real_runners_print_is_understood_takes_time() {
    for suite in &SUITES {
        if !is_installed(suite) {
            println!("{} is not installed and was skipped", suite.name);
            continue;
        }
        let project = Project::new(&format!("[checks.tests]\nrun = \"{}\"\n", suite.run));
        let work = project.path("work");
        git(&work);
        std::fs::create_dir(work.join("src")).unwrap();
        let package = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                       [workspace]\n";
        project.write("Cargo.toml", package);
        project.write(
            "Cargo.lock",
            "version = 4\n[[package]]\nname = \"sample\"\nversion = \"0.1.0\"\n",
        );
        project.write(".gitignore", "target/\n__pycache__/\n");
        let mut commit = Command::new("git");
        commit.args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@localhost",
            "commit",
            "-qm",
            "first",
        ]);
        let add = Command::new("git").args(["add", "-A"]).current_dir(&work).status().unwrap();
        assert!(add.success() && commit.current_dir(&work).status().unwrap().success());
        project.trust("yes");
        let expect = |content: &str, verdict: &str, counts: [u64; 3]| {
            let counts = counts.map(|count| json!(count));
            assert_eq!(
                judged(&project, suite, content),
                (json!(verdict), counts),
                "{}",
                suite.name
            );
        };
        expect(suite.passing, "passed", [2, 0, 1]);
        expect(suite.failing, "failed", [1, 1, 0]);
        let (verdict, counts) = judged(&project, suite, suite.empty);
        assert_eq!(
            (verdict, &counts[0]),
            (json!("empty"), &json!(0)),
            "{}: {counts:?}",
            suite.name
        );
    }
}
