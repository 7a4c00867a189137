//! Reads `muster.toml`, the file in which a project declares its checks.

mod written;

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use muster_core::{
    checks::definition::{
        CheckCommand, CheckDefinition, GatePolicy, PROJECT_CHECKS_MAX, ProjectDefinition,
        TIMEOUT_SECONDS_DEFAULT, TIMEOUT_SECONDS_MAX,
    },
    tasks::{
        id::{CheckName, WorkspaceId},
        step::{Checkpoint, Checkpoints},
    },
    watched::WatchPolicy,
};
use serde::Deserialize;
use toml::Spanned;

use super::globs::Globs;

pub use written::{additional_checks, text};

/// The name of the project file.
pub const PROJECT_FILE: &str = "muster.toml";
/// Bytes of a project file.
const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Entries of a list of globs.
const GLOBS_MAX: usize = 200;

/// A project file that cannot be used, with the place and what to change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{}: {message}", file.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ProjectFileError {
    pub file: PathBuf,
    pub line: Option<usize>,
    pub message: String,
}

/// A project file that was found and read.
#[derive(Clone, Debug)]
pub struct ProjectFile {
    /// The directory it is in.
    pub root: PathBuf,
    pub definition: ProjectDefinition,
}

/// The nearest project file in a directory or above it.
#[must_use]
pub fn find(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().map(|above| above.join(PROJECT_FILE)).find(|file| file.is_file())
}

pub fn read(file: &Path) -> Result<ProjectFile, ProjectFileError> {
    let fail = |message: String| ProjectFileError { file: file.to_owned(), line: None, message };
    let text = read_bounded(file).map_err(|error| fail(error.to_string()))?;
    let root = file.parent().unwrap_or(Path::new("/")).to_owned();
    match parse(&text) {
        Ok(definition) => Ok(ProjectFile { root, definition }),
        Err(problem) => {
            let line = problem.at.map(|at| line_of(&text, at.start));
            Err(ProjectFileError { line, ..fail(problem.message) })
        }
    }
}

/// How much of the sessions in a directory is watched, as its project file says. Nothing is where
/// the file cannot be read: it may forbid what it cannot say.
#[must_use]
pub fn watch_policy(directory: &Path) -> WatchPolicy {
    let Some(file) = find(directory) else { return WatchPolicy::Full };
    let written = read_bounded(&file).ok().and_then(|text| toml::from_str(&text).ok());
    written.map_or(WatchPolicy::Off, |written: WrittenWatch| written.watch)
}

fn read_bounded(file: &Path) -> io::Result<String> {
    let size = fs::metadata(file)?.len();
    if size > FILE_BYTES_MAX {
        let message = format!("the file has {size} bytes, at most {FILE_BYTES_MAX} are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    fs::read_to_string(file)
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// Something wrong in the text, with its place.
struct Problem {
    at: Option<Range<usize>>,
    message: String,
}

impl Problem {
    fn at<T>(place: &Spanned<T>, message: impl Into<String>) -> Self {
        Self { at: Some(place.span()), message: message.into() }
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProject {
    workspace: Option<WorkspaceId>,
    #[serde(default)]
    gates: GatePolicy,
    #[serde(default)]
    checks: BTreeMap<Spanned<String>, WrittenCheck>,
    #[serde(default)]
    protect: WrittenProtection,
    /// Read on its own, because it concerns no check ([`watch_policy`]).
    #[serde(rename = "watch")]
    _watch: Option<WatchPolicy>,
}

/// The part of a project file that hooks of agents read.
#[derive(Deserialize)]
struct WrittenWatch {
    #[serde(default)]
    watch: WatchPolicy,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProtection {
    #[serde(default)]
    paths: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCheck {
    run: Spanned<CheckCommand>,
    timeout: Option<Spanned<String>>,
    report: Option<Spanned<String>>,
    #[serde(default)]
    paths: Vec<Spanned<String>>,
    proves: Option<Checkpoints>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    clean: bool,
    #[serde(default)]
    env: BTreeMap<Spanned<String>, String>,
    guard_count: Option<bool>,
}

fn parse(text: &str) -> Result<ProjectDefinition, Problem> {
    let written: WrittenProject = toml::from_str(text).map_err(|error| Problem {
        at: error.span(),
        message: error.message().trim_end().to_owned(),
    })?;
    if let Some((name, _)) = written.checks.iter().nth(PROJECT_CHECKS_MAX) {
        let message = format!("a project has at most {PROJECT_CHECKS_MAX} checks");
        return Err(Problem::at(name, message));
    }
    let checks = written.checks.into_iter().map(|(name, check)| {
        check_name(&name)?;
        Ok((name.into_inner(), check_definition(check)?))
    });
    Ok(ProjectDefinition {
        workspace: written.workspace,
        gates: written.gates,
        checks: checks.collect::<Result<_, _>>()?,
        protected: globs(written.protect.paths)?,
    })
}

fn check_name(name: &Spanned<String>) -> Result<(), Problem> {
    match name.get_ref().parse::<CheckName>() {
        Ok(_) => Ok(()),
        Err(bad) => Err(Problem::at(name, format!("expected {}", bad.expected))),
    }
}

fn check_definition(written: WrittenCheck) -> Result<CheckDefinition, Problem> {
    let command = written.run;
    let is_blank = match command.get_ref() {
        CheckCommand::Shell(line) => line.trim().is_empty(),
        CheckCommand::Program(words) => words.first().is_none_or(|word| word.trim().is_empty()),
    };
    if is_blank {
        return Err(Problem::at(&command, "run: name a command, for example \"cargo test\""));
    }
    let timeout_seconds = match written.timeout {
        Some(given) => seconds(&given)?,
        None => TIMEOUT_SECONDS_DEFAULT,
    };
    let env = written.env.into_iter().map(|(name, value)| Ok((variable(name)?, value)));
    Ok(CheckDefinition {
        run: command.into_inner(),
        timeout_seconds,
        report: written.report.map(report).transpose()?,
        paths: globs(written.paths)?,
        proves: written.proves.unwrap_or_else(|| Checkpoints::from([Checkpoint::Tests])),
        required: written.required,
        clean: written.clean,
        env: env.collect::<Result<_, _>>()?,
        guard_count: written.guard_count.unwrap_or(true),
    })
}

/// A time such as `90s`, `10m` or `2h`.
fn seconds(given: &Spanned<String>) -> Result<u64, Problem> {
    let text = given.get_ref().as_str();
    let scaled = [("s", 1), ("m", 60), ("h", 3600)].into_iter().find_map(|(unit, factor)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(factor)
    });
    match scaled {
        Some(seconds @ 1..=TIMEOUT_SECONDS_MAX) => Ok(seconds),
        Some(_) | None => {
            let message = "timeout: a time from 1s to 24h, for example \"90s\", \"10m\" or \"2h\"";
            Err(Problem::at(given, message))
        }
    }
}

fn variable(name: Spanned<String>) -> Result<String, Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let text = name.get_ref();
    if text.is_empty() || !text.bytes().all(is_plain) || text.as_bytes()[0].is_ascii_digit() {
        return Err(Problem::at(&name, "env: a variable has letters, digits and _ only"));
    }
    Ok(name.into_inner())
}

/// The report has to be inside the project: nothing outside may decide a verdict.
fn report(given: Spanned<String>) -> Result<String, Problem> {
    use std::path::Component;
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if Path::new(given.get_ref()).components().all(is_inside) && !given.get_ref().is_empty() {
        return Ok(given.into_inner());
    }
    Err(Problem::at(&given, "report: a path inside the project, relative to muster.toml"))
}

fn globs(given: Vec<Spanned<String>>) -> Result<Vec<String>, Problem> {
    if let Some(excess) = given.get(GLOBS_MAX) {
        return Err(Problem::at(excess, format!("paths: at most {GLOBS_MAX} globs")));
    }
    for glob in &given {
        Globs::check(glob.get_ref())
            .map_err(|message| Problem::at(glob, format!("paths: {message}")))?;
    }
    Ok(given.into_iter().map(Spanned::into_inner).collect())
}

#[cfg(test)]
mod tests {
    use muster_core::checks::definition::GatePolicy;

    use super::{ProjectFileError, WatchPolicy, read, watch_policy};

    fn refused(text: &str) -> ProjectFileError {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("muster.toml");
        std::fs::write(&file, text).unwrap();
        read(&file).expect_err(text)
    }

    #[test]
    fn a_whole_file_is_read_with_its_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("muster.toml");
        let text = "workspace = \"acme/api\"\n\n[checks.tests]\nrun = \"cargo test\"\n\n\
            [checks.lint]\nrun = [\"cargo\", \"clippy\"]\ntimeout = \"90s\"\nproves = [\"docs\"]\n\
            required = true\npaths = [\"src/**\"]\n\n[protect]\npaths = [\".github/**\"]\n";
        std::fs::write(&file, text).unwrap();
        let project = read(&file).unwrap();
        assert_eq!(project.root, folder.path());
        assert_eq!(project.definition.gates, GatePolicy::Strict);
        insta::assert_json_snapshot!(project.definition);
    }

    #[test]
    fn what_is_wrong_has_a_line_and_a_fix() {
        let messages = [
            "[checks.tests]\nrun = \"cargo test\"\ntimeuot = \"1m\"\n",
            "[checks.Tests]\nrun = \"cargo test\"\n",
            "[checks.tests]\n\nrun = 5\n",
            "[checks.tests]\nrun = \" \"\n",
            "[checks.tests]\nrun = \"x\"\ntimeout = \"soon\"\n",
            "[checks.tests]\nrun = \"x\"\ntimeout = \"25h\"\n",
            "[checks.tests]\nrun = \"x\"\npaths = [\"a\", \"/b\"]\n",
            "[checks.tests]\nrun = \"x\"\npaths = [\"a[b\"]\n",
            "[checks.tests]\nrun = \"x\"\nreport = \"../out.xml\"\n",
            "[checks.tests]\nrun = \"x\"\nproves = [\"speed\"]\n",
            "[checks.tests]\nrun = \"x\"\nenv = { \"A=B\" = \"1\" }\n",
            "[checks.tests]\n",
            "workspace = \"a b\"\n",
            "gates = \"loose\"\n",
            "[checks.tests\n",
        ]
        .map(|text| {
            let error = refused(text);
            format!(
                "{}: {}",
                error.line.map_or("-".to_owned(), |line| line.to_string()),
                error.message
            )
        });
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn host_watch_6_a_project_says_how_much_of_its_sessions_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("src/deep");
        std::fs::create_dir_all(&inner).unwrap();
        assert_eq!(watch_policy(&inner), WatchPolicy::Full);
        let texts = [
            ("workspace = \"a\"\n", WatchPolicy::Full),
            ("watch = \"titles\"\n", WatchPolicy::Titles),
            ("watch = \"off\"\n[checks.tests]\nrun = \"x\"\n", WatchPolicy::Off),
            ("watch = \"of\"\n", WatchPolicy::Off),
            ("watch = \n", WatchPolicy::Off),
        ];
        for (text, policy) in texts {
            std::fs::write(folder.path().join("muster.toml"), text).unwrap();
            assert_eq!(watch_policy(&inner), policy, "{text}");
        }
    }

    #[test]
    fn more_checks_than_allowed_are_refused() {
        let text: String =
            (0..51).map(|at| format!("[checks.c{at:02}]\nrun = \"true\"\n")).collect();
        let error = refused(&text);
        assert_eq!(error.line, Some(101));
        assert!(error.message.contains("50"), "{error}");
    }
}
