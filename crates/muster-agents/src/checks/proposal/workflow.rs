//! Commands that the workflows of GitHub run: a hint at what a repository considers its checks.

use super::{RepositoryFiles, Suggestion};

/// Where the commands are from.
pub(super) const PLACE: &str = ".github/workflows";
/// Beginnings of commands that test, for tools that have no row of their own.
const TEST_COMMANDS: [&str; 17] = [
    "make test",
    "make check",
    "just test",
    "npm test",
    "pytest",
    "python -m pytest",
    "python -m unittest",
    "./gradlew test",
    "./gradlew check",
    "./mvnw",
    "mvn",
    "bundle exec rspec",
    "bundle exec rake",
    "mix test",
    "dotnet test",
    "swift test",
    "deno test",
];

/// The first test command that is not for a tool with its own row.
pub(super) fn suggest(files: &RepositoryFiles) -> Vec<Suggestion> {
    let found = commands(files).find(|command| {
        is_plain(command) && TEST_COMMANDS.iter().any(|known| begins_with(command, known))
    });
    found.map(|command| Suggestion::tests(PLACE, command)).into_iter().collect()
}

/// Checks that prove nothing, for the commands that workflows run. Each row has the name of the
/// check, the beginning of the command, and what to run where the workflow's own line cannot be.
pub(super) fn style(
    files: &RepositoryFiles,
    rows: &[(&'static str, &str, &str)],
) -> Vec<Suggestion> {
    let found = rows.iter().filter_map(|(name, command, otherwise)| {
        let line = line(files, command)?;
        let line = if is_plain(line) { line } else { otherwise };
        Some(Suggestion::style(name, PLACE, line))
    });
    found.collect()
}

/// The first command of a workflow that begins with these words.
pub(super) fn line<'a>(files: &'a RepositoryFiles, words: &str) -> Option<&'a str> {
    commands(files).find(|command| begins_with(command, words))
}

fn begins_with(command: &str, words: &str) -> bool {
    command.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether a command means the same outside of its workflow.
fn is_plain(command: &str) -> bool {
    !command.contains(['$', '\\', '`', '|', '>', '<'])
}

fn commands(files: &RepositoryFiles) -> impl Iterator<Item = &str> {
    let lines = files.workflows().flat_map(run_lines);
    lines.flat_map(|line| line.split("&&").flat_map(|part| part.split(';'))).map(str::trim)
}

/// The lines of all `run` keys, found by their indentation.
fn run_lines(workflow: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut block: Option<usize> = None;
    for line in workflow.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(key) = block {
            if text.is_empty() || indent > key {
                found.push(text.trim_end());
                continue;
            }
            block = None;
        }
        let key = text.strip_prefix("- ").map_or(text, str::trim_start);
        let Some(value) = key.strip_prefix("run:").map(str::trim) else { continue };
        if value.starts_with(['|', '>']) {
            block = Some(indent + text.len() - key.len());
        } else {
            found.push(value.trim_matches(['"', '\'']));
        }
    }
    found.retain(|line| !line.is_empty() && !line.starts_with('#'));
    found
}

#[cfg(test)]
mod tests {
    use super::run_lines;

    #[test]
    fn commands_are_found_in_lines_and_blocks() {
        let workflow = "jobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      \
            - run: cargo fmt --check\n      - name: Test\n        run: |\n          \
            # all of them\n          cargo build\n\n          cargo test\n        env:\n          \
            run_id: 5\n      - run: \"make lint\"\n";
        assert_eq!(
            run_lines(workflow),
            ["cargo fmt --check", "cargo build", "cargo test", "make lint"]
        );
    }
}
