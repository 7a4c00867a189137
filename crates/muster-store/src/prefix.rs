//! Ranges of names that begin with the same characters.

/// The first string that sorts after everything with this prefix; `None` if nothing does.
pub(crate) fn first_after(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // The successor of the last character before the surrogates is the first one after them.
        let next = (last..=char::MAX).nth(1);
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}
