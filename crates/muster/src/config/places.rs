//! Where files are on this platform, depending on the environment.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The environment, as a value.
pub(super) type Variables = Box<dyn Fn(&str) -> Option<OsString>>;

/// Variable that names another file of settings.
pub(crate) const FILE_VARIABLE: &str = "MUSTER_CONFIG";
/// Variable that names another file of C-Tree switches (CF-5).
const USER_FILE_VARIABLE: &str = "BREADBOARD_USER_CONFIG";
/// This program's folder inside those of the platform.
const FOLDER: &str = "muster";

/// The settings file, and whether it was named explicitly and so must exist.
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) named: bool,
}

/// The settings file; `None` when the home folder is unknown.
pub(crate) fn own_file(variables: &dyn Fn(&str) -> Option<OsString>) -> Option<SettingsFile> {
    if let Some(path) = named(variables, FILE_VARIABLE) {
        return Some(SettingsFile { path, named: true });
    }
    let folder = platform_folder(variables, "XDG_CONFIG_HOME", ".config")?;
    Some(SettingsFile { path: folder.join("config.toml"), named: false })
}

/// The folder of the store and the token, unless another one is set.
pub(super) fn storage(variables: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    platform_folder(variables, "XDG_DATA_HOME", ".local/share")
}

/// The file of C-Tree switches that this program shares with others.
pub(super) fn user_file(variables: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    named(variables, USER_FILE_VARIABLE)
        .or_else(|| Some(home(variables)?.join(".breadboard/config.json")))
}

pub(super) fn home(variables: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let variable = if cfg!(target_os = "windows") { "USERPROFILE" } else { "HOME" };
    absolute(variables, variable)
}

/// The platform's folder for files of this program.
fn platform_folder(
    variables: &dyn Fn(&str) -> Option<OsString>,
    base_variable: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let parent = if cfg!(target_os = "windows") {
        absolute(variables, "APPDATA")?
    } else if cfg!(target_os = "macos") {
        home(variables)?.join("Library/Application Support")
    } else {
        // The base directory specification says to ignore relative values.
        absolute(variables, base_variable).or_else(|| Some(home(variables)?.join(below_home)))?
    };
    Some(parent.join(FOLDER))
}

fn absolute(variables: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variables(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// A file that a variable names; a blank value names none.
fn named(variables: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    let text = variables(name)?;
    let blank = text.to_str().is_some_and(muster_core::text::is_blank);
    (!blank).then(|| PathBuf::from(text))
}

/// A path in the file: `~/` is the home folder, and a relative path starts at the file.
pub(super) fn from_file(text: &str, file: &Path, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => file.parent().unwrap_or(Path::new("")).join(text),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsString,
        path::{Path, PathBuf},
    };

    use super::{from_file, own_file, storage, user_file};

    fn in_environment<T>(
        pairs: &[(&str, &str)],
        look_up: impl Fn(&dyn Fn(&str) -> Option<OsString>) -> T,
    ) -> T {
        look_up(&|name| {
            let value = pairs.iter().find(|(known, _)| *known == name)?.1;
            Some(OsString::from(value))
        })
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn folders_follow_the_base_directory_specification() {
        let home = ("HOME", "/home/ada");
        let found = |pairs: &[(&str, &str)]| in_environment(pairs, storage);
        let expected = PathBuf::from("/home/ada/.local/share/muster");
        assert_eq!(found(&[home]), Some(expected.clone()));
        assert_eq!(found(&[home, ("XDG_DATA_HOME", "/srv/data")]), Some("/srv/data/muster".into()));
        assert_eq!(found(&[home, ("XDG_DATA_HOME", "relative")]), Some(expected.clone()));
        assert_eq!(found(&[home, ("XDG_DATA_HOME", "")]), Some(expected));
        assert_eq!(found(&[]), None);
        let file = |pairs: &[(&str, &str)]| {
            in_environment(pairs, own_file).map(|file| (file.path, file.named))
        };
        let expected = PathBuf::from("/home/ada/.config/muster/config.toml");
        assert_eq!(file(&[home]), Some((expected.clone(), false)));
        assert_eq!(file(&[home, ("MUSTER_CONFIG", " ")]), Some((expected, false)));
        assert_eq!(
            file(&[home, ("XDG_CONFIG_HOME", "/etc/ada")]),
            Some(("/etc/ada/muster/config.toml".into(), false))
        );
        assert_eq!(file(&[("MUSTER_CONFIG", "my.toml")]), Some(("my.toml".into(), true)));
        assert_eq!(file(&[]), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_shared_file_is_below_home_unless_another_is_named() {
        let home = ("HOME", "/home/ada");
        let found = |pairs: &[(&str, &str)]| in_environment(pairs, user_file);
        assert_eq!(found(&[home]), Some("/home/ada/.breadboard/config.json".into()));
        let named = ("BREADBOARD_USER_CONFIG", "/etc/shared.json");
        assert_eq!(found(&[home, named]), Some("/etc/shared.json".into()));
        assert_eq!(
            found(&[home, ("BREADBOARD_USER_CONFIG", "")]),
            Some("/home/ada/.breadboard/config.json".into())
        );
    }

    #[test]
    fn paths_of_the_file_start_at_home_or_where_the_file_is() {
        let file = Path::new("/etc/muster/config.toml");
        let home = Some(Path::new("/home/ada"));
        assert_eq!(from_file("/srv/store", file, home), Path::new("/srv/store"));
        assert_eq!(from_file("store", file, home), Path::new("/etc/muster/store"));
        assert_eq!(from_file("~/store", file, home), Path::new("/home/ada/store"));
    }
}
