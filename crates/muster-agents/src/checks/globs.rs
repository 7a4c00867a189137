//! Globs over the files of a project: `*` stays within a directory, `**` crosses them.

use bstr::{BStr, BString};
use gix_glob::wildmatch::Mode;

/// A list of globs; a path matches if one of them does.
pub(super) struct Globs(Vec<BString>);

impl Globs {
    /// Says what is wrong with a glob.
    pub(super) fn check(glob: &str) -> Result<(), &'static str> {
        let is_absolute = glob.starts_with('/');
        if glob.is_empty() || is_absolute || glob.split('/').any(|part| part == "..") {
            return Err("a glob is relative to muster.toml, for example \"src/**\"");
        }
        if glob.contains('{') {
            return Err("braces are not supported; write one glob for each alternative");
        }
        if has_open_class(glob) {
            return Err("a [ has no closing ]");
        }
        Ok(())
    }

    pub(super) fn new(globs: &[String]) -> Self {
        Self(globs.iter().map(|glob| BString::from(glob.as_str())).collect())
    }

    /// Whether it covers a path, which is relative to the project.
    pub(super) fn cover(&self, path: &[u8]) -> bool {
        let path = BStr::new(path);
        self.0
            .iter()
            .any(|glob| gix_glob::wildmatch(BStr::new(glob), path, Mode::NO_MATCH_SLASH_LITERAL))
    }
}

fn has_open_class(glob: &str) -> bool {
    let mut rest = glob.chars();
    let mut is_open = false;
    while let Some(next) = rest.next() {
        match next {
            '\\' => {
                rest.next();
            }
            '[' => is_open = true,
            ']' => is_open = false,
            _ => {}
        }
    }
    is_open
}
