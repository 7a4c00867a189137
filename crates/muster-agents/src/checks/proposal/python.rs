//! Python: pytest, tox, nox or Django, in the environment of the lock file.

use super::{RepositoryFiles, Suggestion, workflow};

/// Files that configure pytest, with the text that says so.
const PYTEST_SETTINGS: [(&str, &str); 4] = [
    ("pytest.ini", ""),
    ("pyproject.toml", "[tool.pytest"),
    ("setup.cfg", "[tool:pytest]"),
    ("tox.ini", "[pytest]"),
];
/// Files that list dependencies.
const DEPENDENCIES: [&str; 7] = [
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "setup.cfg",
    "setup.py",
    "Pipfile",
];
/// Files that configure tox, with the text that says so.
const TOX_SETTINGS: [(&str, &str); 3] =
    [("tox.ini", "[tox]"), ("pyproject.toml", "[tool.tox"), ("setup.cfg", "[tox:tox]")];
/// Lock files and how their tools run a program.
const RUNNERS: [(&str, &str); 4] = [
    ("uv.lock", "uv run "),
    ("poetry.lock", "poetry run "),
    ("pdm.lock", "pdm run "),
    ("Pipfile.lock", "pipenv run "),
];

pub(super) fn suggest(files: &RepositoryFiles) -> Vec<Suggestion> {
    let Some(tests) = tests(files) else { return Vec::new() };
    let style = [
        ("ruff", "ruff check", "ruff check ."),
        ("mypy", "mypy", "mypy ."),
        ("black", "black --check", "black --check ."),
    ];
    std::iter::once(tests).chain(workflow::style(files, &style)).collect()
}

fn tests(files: &RepositoryFiles) -> Option<Suggestion> {
    let runner = RUNNERS.iter().find(|(lock, _)| files.has(lock)).map_or("", |(_, run)| *run);
    let pytest = |because| Suggestion {
        report: report(files),
        ..Suggestion::tests(because, format!("{runner}pytest"))
    };
    let configures =
        |(file, mark): &&(&str, &str)| files.text(file).is_some_and(|text| text.contains(mark));
    if let Some((file, _)) = PYTEST_SETTINGS.iter().find(configures) {
        return Some(pytest(file));
    }
    if files.has("conftest.py") {
        return Some(pytest("conftest.py"));
    }
    if let Some((file, _)) = TOX_SETTINGS.iter().find(configures) {
        return Some(Suggestion { minutes: 20, ..Suggestion::tests(file, format!("{runner}tox")) });
    }
    if files.has("noxfile.py") {
        let nox = Suggestion::tests("noxfile.py", format!("{runner}nox"));
        return Some(Suggestion { minutes: 20, ..nox });
    }
    if files.has("manage.py") {
        return Some(Suggestion::tests("manage.py", format!("{runner}python manage.py test")));
    }
    let names_it = |file: &&&str| files.text(file).is_some_and(|text| text.contains("pytest"));
    if let Some(file) = DEPENDENCIES.iter().find(names_it) {
        return Some(pytest(file));
    }
    let is_python = ["pyproject.toml", "setup.py", "setup.cfg"].iter().any(|file| files.has(file));
    let ci =
        ["pytest", "python -m pytest"].iter().any(|line| workflow::line(files, line).is_some());
    (is_python && ci).then(|| pytest(workflow::PLACE))
}

/// The report that the settings of pytest ask for.
fn report(files: &RepositoryFiles) -> Option<String> {
    let settings = PYTEST_SETTINGS.iter().filter_map(|(file, _)| files.text(file));
    let path = settings.filter_map(|text| text.split("--junitxml=").nth(1)).next()?;
    let end = path.find(|letter: char| letter.is_whitespace() || "\"',".contains(letter));
    let path = &path[..end.unwrap_or(path.len())];
    let is_inside = !path.is_empty() && !path.starts_with('/') && !path.contains("..");
    is_inside.then(|| path.to_owned())
}
