//! Links of the site: what can be reached, and what leads nowhere.

use std::collections::BTreeSet;

use crate::embedded::Files;

/// The first page.
const INDEX: &str = "index.html";

/// The files that can be reached from the first page; an error lists the links that lead nowhere.
pub(super) fn reachable(site: &Files) -> Result<Files, Vec<String>> {
    let mut open = vec![INDEX.to_owned()];
    let mut seen = BTreeSet::new();
    let mut broken = Vec::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        for link in links(&text(site, &name)) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = resolved(&name, path);
            let is_there = site.contains_key(&target) && has_anchor(site, &target, anchor);
            match is_there {
                true => open.push(target),
                false => broken.push(format!("{name} to {link}")),
            }
        }
    }
    if !broken.is_empty() {
        return Err(broken);
    }
    let take = |name: String| site.get(&name).map(|bytes| (name, bytes.clone()));
    Ok(seen.into_iter().filter_map(take).collect())
}

fn text(site: &Files, name: &str) -> String {
    match name.ends_with(".html") {
        true => site.get(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        false => None,
    }
    .unwrap_or_default()
}

/// What a page refers to inside the site.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in [" href=\"", " src=\""] {
        let values = page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
        let inside = values.filter(|value| !value.contains("://") && !value.starts_with("mailto:"));
        found.extend(inside.map(str::to_owned));
    }
    found
}

/// The path of a link, seen from a page.
fn resolved(page: &str, link: &str) -> String {
    if link.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn has_anchor(site: &Files, page: &str, anchor: &str) -> bool {
    anchor.is_empty() || text(site, page).contains(&format!(" id=\"{anchor}\""))
}

#[cfg(test)]
mod tests {
    use super::{Files, reachable};

    fn site(entries: &[(&str, &str)]) -> Files {
        entries.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn only_what_is_linked_is_taken() {
        let files = site(&[
            ("index.html", "<a href=\"deep/a.html#there\"> <img src=\"b.png\">"),
            ("deep/a.html", "<h1 id=\"there\"> <a href=\"../index.html\"> <a href=\"#there\">"),
            ("b.png", "picture"),
            ("unused.js", ""),
        ]);
        let names: Vec<String> = reachable(&files).unwrap().into_keys().collect();
        assert_eq!(names, ["b.png", "deep/a.html", "index.html"]);
    }

    #[test]
    fn links_that_lead_nowhere_are_listed() {
        let files = site(&[("index.html", "<a href=\"gone.html\"> <a href=\"#gone\">")]);
        let expected = ["index.html to gone.html", "index.html to #gone"].map(str::to_owned);
        assert_eq!(reachable(&files).unwrap_err(), expected);
    }
}
