//! Globs of allow rules: `*` and `?` stay within a name, `**` is any number of folders. None of
//! them matches a name that begins with a dot, such as `.git` or `.env`: a rule has to spell it.

/// Characters of a glob.
const GLOB_CHARS_MAX: usize = 500;

/// Why a glob cannot be used.
pub(super) fn fault(glob: &str) -> Option<&'static str> {
    let mut names = glob.split('/');
    if glob.is_empty() || glob.chars().count() > GLOB_CHARS_MAX {
        return Some("a glob of at most 500 characters");
    }
    if glob.chars().any(char::is_control) {
        return Some("a glob without control characters");
    }
    if names.any(|name| name.is_empty() || name == "." || name == "..") {
        return Some("a glob relative to the directory of the node, such as src/**");
    }
    if glob.split('/').any(|name| name.contains("**") && name != "**") {
        return Some("a glob in which ** is a whole name, such as src/**/*.rs");
    }
    None
}

/// Whether a glob covers a path; both are relative to the same directory.
pub(super) fn covers(glob: &str, path: &str) -> bool {
    let globs: Vec<&str> = glob.split('/').collect();
    let names: Vec<&str> = path.split('/').collect();
    let (mut at, mut next) = (0, 0);
    // Where to go on if what follows the last `**` does not fit.
    let mut again: Option<(usize, usize)> = None;
    while next < names.len() {
        match globs.get(at) {
            Some(&"**") => {
                again = Some((at + 1, next));
                at += 1;
                continue;
            }
            Some(glob) if name_fits(glob, names[next]) => {
                at += 1;
                next += 1;
                continue;
            }
            Some(_) | None => {}
        }
        match again {
            Some((after, covered)) if !names[covered].starts_with('.') => {
                again = Some((after, covered + 1));
                at = after;
                next = covered + 1;
            }
            Some(_) | None => return false,
        }
    }
    // `src/**` is what is in `src`, not `src` itself.
    at == globs.len()
}

/// Whether one name fits a glob without `/`.
fn name_fits(glob: &str, name: &str) -> bool {
    if name.starts_with('.') && !glob.starts_with('.') {
        return false;
    }
    let glob: Vec<char> = glob.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut next) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while next < name.len() {
        match glob.get(at) {
            Some('*') => {
                again = Some((at + 1, next));
                at += 1;
            }
            Some(one) if *one == '?' || *one == name[next] => {
                at += 1;
                next += 1;
            }
            Some(_) | None => {
                let Some((after, covered)) = again else { return false };
                again = Some((after, covered + 1));
                at = after;
                next = covered + 1;
            }
        }
    }
    glob[at..].iter().all(|left| *left == '*')
}
