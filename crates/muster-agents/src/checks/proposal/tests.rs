//! What is proposed for small repositories of all kinds.

use std::{fs, path::Path};

use muster_core::checks::definition::ProjectDefinition;

use super::{ProposedCheck, RepositoryFiles, propose};
use crate::checks::project;

/// A repository with these files.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// One line for each proposed check. The file with all of them is read back on the way.
fn proposed(files: &[(&str, &str)]) -> Vec<String> {
    let folder = repository(files);
    let checks = propose(&RepositoryFiles::read(folder.path()).unwrap());
    written_and_read(folder.path(), &checks);
    checks.iter().map(line).collect()
}

fn written_and_read(root: &Path, checks: &[ProposedCheck]) {
    let by_name = checks.iter().map(|check| (check.name.clone(), check.definition.clone()));
    let definition = ProjectDefinition {
        workspace: Some("acme/api".parse().unwrap()),
        checks: by_name.collect(),
        ..ProjectDefinition::default()
    };
    let text = project::text(&definition);
    let file = root.join("muster.toml");
    fs::write(&file, &text).unwrap();
    assert_eq!(project::read(&file).unwrap().definition, definition, "{text}");
    assert_eq!(definition.checks.len(), checks.len(), "every check has a name of its own");
}

fn line(check: &ProposedCheck) -> String {
    let definition = &check.definition;
    let mut line = format!("{}: {}", check.name, definition.run.line());
    for (name, value) in &definition.env {
        line = format!("{line} {name}={value}");
    }
    if let Some(report) = &definition.report {
        line = format!("{line} -> {report}");
    }
    if definition.required {
        line += " (required)";
    }
    if definition.proves.is_empty() {
        line += " (proves nothing)";
    }
    line
}

const PACKAGE: &str = "[package]\nname = \"x\"\n";

#[test]
fn rust_has_cargo_test_and_the_linters_of_its_workflow() {
    let manifest = ("Cargo.toml", PACKAGE);
    assert_eq!(proposed(&[manifest, ("src/lib.rs", "")]), ["tests: cargo test (required)"]);
    let workflow = "      - run: cargo fmt --check && cargo clippy -- -D warnings\n      \
        - run: cargo test\n";
    assert_eq!(
        proposed(&[manifest, (".github/workflows/ci.yml", workflow)]),
        [
            "tests: cargo test (required)",
            "clippy: cargo clippy -- -D warnings (proves nothing)",
            "fmt: cargo fmt --check (proves nothing)",
        ]
    );
    let matrix = "      - run: cargo clippy --target ${{ matrix.target }}\n";
    assert_eq!(
        proposed(&[manifest, (".github/workflows/ci.yaml", matrix)])[1],
        "clippy: cargo clippy --all-targets -- -D warnings (proves nothing)"
    );
}

#[test]
fn a_rust_workspace_with_nextest_has_its_profile_and_report() {
    let manifest = ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");
    let settings = "[profile.ci]\nfail-fast = false\n[profile.ci.junit]\npath = \"junit.xml\"\n";
    assert_eq!(
        proposed(&[manifest, (".config/nextest.toml", settings)]),
        ["tests: cargo nextest run --workspace --profile ci -> target/nextest/ci/junit.xml \
          (required)"]
    );
    let settings = "[profile.default]\nretries = 2\n";
    assert_eq!(
        proposed(&[manifest, (".config/nextest.toml", settings)]),
        ["tests: cargo nextest run --workspace (required)"]
    );
    let workflow = "  - run: |\n      cargo nextest run --all-features\n";
    assert_eq!(
        proposed(&[manifest, (".github/workflows/ci.yml", workflow)]),
        ["tests: cargo nextest run --workspace (required)"]
    );
}

#[test]
fn package_scripts_are_run_by_the_manager_of_the_lock_file() {
    let scripts = "{\"scripts\": {\"test\": \"node --test\", \"lint\": \"eslint .\"}}";
    let manifest = ("package.json", scripts);
    for (lock, tests, lint) in [
        ("package-lock.json", "npm test", "npm run lint"),
        ("pnpm-lock.yaml", "pnpm test", "pnpm run lint"),
        ("yarn.lock", "yarn test", "yarn run lint"),
        ("bun.lock", "bun run test", "bun run lint"),
        ("nothing", "npm test", "npm run lint"),
    ] {
        assert_eq!(
            proposed(&[manifest, (lock, "")]),
            [
                format!("tests: {tests} CI=true (required)"),
                format!("lint: {lint} CI=true (proves nothing)")
            ]
        );
    }
}

#[test]
fn vitest_is_told_that_nobody_watches_and_types_are_checked() {
    let manifest = "{\"scripts\": {\"test\": \"vitest\", \"typecheck\": \"tsc --noEmit\"},\n\
        \"packageManager\": \"pnpm@9.1.0\"}";
    assert_eq!(
        proposed(&[("package.json", manifest)]),
        [
            "tests: pnpm test CI=true (required)",
            "types: pnpm run typecheck CI=true (proves nothing)"
        ]
    );
}

#[test]
fn the_tool_of_a_monorepo_tests_all_packages() {
    let empty = "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}";
    assert_eq!(proposed(&[("package.json", empty)]), [""; 0]);
    let lock = ("pnpm-lock.yaml", "");
    assert_eq!(
        proposed(&[("package.json", empty), lock, ("turbo.json", "{}"), ("nx.json", "{}")]),
        ["tests: pnpm exec turbo run test CI=true (required)"]
    );
    assert_eq!(
        proposed(&[("package.json", empty), lock, ("pnpm-workspace.yaml", "")]),
        ["tests: pnpm --recursive test CI=true (required)"]
    );
    assert_eq!(
        proposed(&[("package.json", "{\"workspaces\": [\"packages/*\"]}")]),
        ["tests: npm test --workspaces --if-present CI=true (required)"]
    );
    let nested = ("packages/a/package.json", "{\"scripts\": {\"test\": \"x\"}}");
    assert_eq!(proposed(&[nested]), [""; 0], "only the root counts");
}

#[test]
fn pytest_runs_in_the_environment_of_the_lock_file() {
    let settings = "[tool.pytest.ini_options]\naddopts = \"-ra --junitxml=.reports/junit.xml\"\n";
    let workflow = "  - run: uv run ruff check\n  - run: ruff check src\n";
    assert_eq!(
        proposed(&[
            ("pyproject.toml", settings),
            ("uv.lock", ""),
            (".github/workflows/ci.yml", workflow),
        ]),
        [
            "tests: uv run pytest -> .reports/junit.xml (required)",
            "ruff: ruff check src (proves nothing)",
        ]
    );
    let dependency = "[project.optional-dependencies]\ndev = [\"pytest>=8\"]\n";
    assert_eq!(proposed(&[("pyproject.toml", dependency)]), ["tests: pytest (required)"]);
    assert_eq!(
        proposed(&[("requirements-dev.txt", "pytest\n"), ("poetry.lock", "")]),
        ["tests: poetry run pytest (required)"]
    );
}

#[test]
fn tox_is_used_where_pytest_has_no_settings_of_its_own() {
    let tox = "[tox]\nenv_list = py312\n[testenv]\ncommands = pytest tests\n";
    assert_eq!(proposed(&[("tox.ini", tox)]), ["tests: tox (required)"]);
    let both = format!("{tox}\n[pytest]\naddopts = -q\n");
    assert_eq!(proposed(&[("tox.ini", &both)]), ["tests: pytest (required)"]);
    assert_eq!(proposed(&[("noxfile.py", "")]), ["tests: nox (required)"]);
    assert_eq!(proposed(&[("manage.py", "")]), ["tests: python manage.py test (required)"]);
    assert_eq!(proposed(&[("setup.py", "")]), [""; 0]);
}

#[test]
fn go_tests_its_module_or_all_modules() {
    assert_eq!(proposed(&[("go.mod", "module x\n")]), ["tests: go test ./... (required)"]);
    assert_eq!(
        proposed(&[("go.work", "use ./a\n"), ("a/go.mod", "module a\n")]),
        ["tests: go test $(go list -m -f '{{.Dir}}/...') (required)"]
    );
}

#[test]
fn targets_count_where_no_other_tool_covers_them() {
    let makefile = ("Makefile", ".PHONY: test lint\ntest: build\n\tprove t\nlint:\n\tlint\n");
    assert_eq!(
        proposed(&[makefile]),
        ["tests: make test (required)", "lint: make lint (proves nothing)"]
    );
    assert_eq!(
        proposed(&[makefile, ("go.mod", "module x\n")]),
        ["tests: go test ./... (required)", "lint: make lint (proves nothing)"]
    );
    assert_eq!(proposed(&[("justfile", "check *args:\n  x\n")]), ["tests: just check (required)"]);
}

#[test]
fn a_workflow_alone_is_a_hint() {
    let workflow = "  - run: mix deps.get\n  - run: mix test --cover\n";
    assert_eq!(
        proposed(&[("mix.exs", ""), (".github/workflows/test.yml", workflow)]),
        ["tests: mix test --cover (required)"]
    );
}

#[test]
fn nothing_is_invented_and_broken_manifests_do_no_harm() {
    assert_eq!(proposed(&[]), [""; 0]);
    assert_eq!(proposed(&[("README.md", "# Notes\n")]), [""; 0]);
    assert_eq!(proposed(&[("package.json", "{")]), [""; 0]);
    assert_eq!(proposed(&[("Cargo.toml", "[")]), ["tests: cargo test (required)"]);
}

#[test]
fn a_mixed_repository_has_one_main_check_and_names_that_differ() {
    let manifest = "{\"scripts\": {\"test\": \"vitest run\", \"lint\": \"eslint .\"}}";
    assert_eq!(
        proposed(&[
            ("Cargo.toml", PACKAGE),
            ("package.json", manifest),
            ("pytest.ini", "[pytest]\n"),
            ("Makefile", "test:\n\tall\nlint:\n\tall\n"),
        ]),
        [
            "tests: cargo test (required)",
            "tests-node: npm test CI=true",
            "lint: npm run lint CI=true (proves nothing)",
            "tests-python: pytest",
        ]
    );
}

#[test]
fn a_proposal_depends_on_all_files() {
    let folder = repository(&[
        ("Cargo.toml", PACKAGE),
        ("README.md", ""),
        ("docs/a.md", ""),
        ("Makefile", "lint:\n\tall\n"),
    ]);
    let checks = propose(&RepositoryFiles::read(folder.path()).unwrap());
    assert_eq!(checks.len(), 2);
    for check in &checks {
        assert_eq!(check.definition.paths, [""; 0], "{}", check.name);
    }
}
