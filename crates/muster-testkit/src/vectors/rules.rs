//! Which rules of a contract have a vector, and which are still to come.
//!
//! Three lists lie beside the vectors: `rules.txt` names every rule, `tested.txt` the ones that a
//! test written in code holds, `pending.txt` the ones that wait for operations to come.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{load, topics};

/// Beginning of a remark in `pending.txt` on a rule that has a vector for what can be seen today.
const PARTLY: &str = "partly:";

/// The lists of one folder of vectors.
pub struct Coverage {
    /// Every rule.
    pub rules: BTreeSet<String>,
    /// Rules by the cases that are vectors of them.
    pub vectors: BTreeMap<String, Vec<String>>,
    /// Rules by the test that holds them: file and function.
    pub tested: Vec<(String, String, String)>,
    /// Rules that wait, with what they wait for.
    pub pending: BTreeMap<String, String>,
}

impl Coverage {
    /// Reads the lists and the vectors.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut vectors: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for topic in topics(folder)? {
            for case in load(folder, &topic)?.cases {
                for rule in case.rules {
                    vectors.entry(rule).or_default().push(format!("{topic}: {}", case.name));
                }
            }
        }
        let tested = lines(&folder.join("tested.txt"))?;
        let tested = tested.iter().map(|line| three_words(line)).collect::<Result<_, _>>()?;
        let pending = lines(&folder.join("pending.txt"))?;
        let pending = pending.iter().map(|line| {
            let (rule, remark) = line.split_once(' ').unwrap_or((line, ""));
            (rule.to_owned(), remark.trim().to_owned())
        });
        Ok(Self {
            rules: lines(&folder.join("rules.txt"))?.into_iter().collect(),
            vectors,
            tested,
            pending: pending.collect(),
        })
    }

    /// What is wrong with the lists; `root` is the repository.
    pub fn faults(&self, root: &Path) -> Vec<String> {
        let mut faults = Vec::new();
        let tested: BTreeSet<&String> = self.tested.iter().map(|(rule, _, _)| rule).collect();
        for rule in &self.rules {
            let is_shown = self.vectors.contains_key(rule) || tested.contains(rule);
            match self.pending.get(rule) {
                None if !is_shown => {
                    faults.push(format!("{rule} has no vector and is not pending"));
                }
                Some(remark) if is_shown && !remark.starts_with(PARTLY) => {
                    faults.push(format!("{rule} has a vector: it is pending no more"));
                }
                Some(remark) if !is_shown && remark.starts_with(PARTLY) => {
                    faults.push(format!("{rule} is partly pending but has no vector"));
                }
                Some(remark) if remark.is_empty() => {
                    faults.push(format!("{rule} is pending, but for what?"));
                }
                None | Some(_) => {}
            }
        }
        let named = self.vectors.keys().chain(tested).chain(self.pending.keys());
        let unheard = named.filter(|rule| !self.rules.contains(*rule));
        faults.extend(unheard.map(|rule| format!("{rule} is no rule")));
        for (rule, file, function) in &self.tested {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            if !text.contains(&format!("fn {function}(")) {
                faults.push(format!("{rule}: {file} has no test {function}"));
            }
        }
        faults
    }
}

/// The lines of a list, without blank ones and remarks.
fn lines(file: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let lines = text.lines().map(str::trim);
    Ok(lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

fn three_words(line: &str) -> Result<(String, String, String), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [rule, file, function] => {
            Ok(((*rule).to_owned(), (*file).to_owned(), (*function).to_owned()))
        }
        _ => Err(format!("expected a rule, a file and a function: {line}")),
    }
}
