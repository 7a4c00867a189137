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
        faults.extend(unheard.map(|rule| format!("{rule} is not a rule")));
        for (rule, file, function) in &self.tested {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            if !text.contains(&format!("fn {function}(")) {
                faults.push(format!("{rule}: {file} has no test {function}"));
            }
        }
        faults
    }
}

/// Whether the name of a test says that it is about a rule: `runs_pit_5_and_app_6_..` is about
/// RUNS-PIT-5 and RUNS-APP-6, `runs_tpl_1_to_3_..` about three.
pub fn is_named_after(rule: &str, function: &str) -> bool {
    let rule = rule.to_ascii_lowercase();
    let mut parts = rule.split('-');
    let (Some(contract), Some(group), Some(number)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Ok(number) = number.parse::<u32>() else { return false };
    let words: Vec<&str> = function.split('_').collect();
    let groups = words.iter().enumerate().filter(|(_, word)| **word == group);
    words.first() == Some(&contract)
        && groups.map(|(at, _)| &words[at + 1..]).any(|rest| numbers(rest).contains(&number))
}

/// The numbers that a group of words begins with.
fn numbers(words: &[&str]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let mut range = false;
    for word in words {
        match (word.parse::<u32>(), *word) {
            (Ok(to), _) if range => {
                let from = found.last().map_or(to, |last| last + 1);
                found.extend(from..=to);
                range = false;
            }
            (Ok(number), _) => found.push(number),
            (Err(_), "to") => range = true,
            (Err(_), "and") => {}
            (Err(_), _) => break,
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::is_named_after;

    #[test]
    fn names_of_tests_say_which_rules_they_are_about() {
        let names = |rule, test| is_named_after(rule, test);
        assert!(names("RUNS-PIT-5", "runs_pit_5_and_app_6_an_approval_reaches_the_program"));
        assert!(names("RUNS-APP-6", "runs_pit_5_and_app_6_an_approval_reaches_the_program"));
        assert!(names("RUNS-PIT-25", "runs_pit_5_22_25_and_30_approvals_are_answered_once"));
        assert!(names("RUNS-TPL-2", "runs_tpl_1_to_3_templates_are_found"));
        assert!(!names("RUNS-PIT-6", "runs_pit_5_and_app_6_an_approval_reaches_the_program"));
        assert!(!names("RUNS-TPL-4", "runs_tpl_1_to_3_templates_are_found"));
        assert!(!names("RUNS-PIT-5", "a_test_about_nothing"));
    }
}
