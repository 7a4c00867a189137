//! What test runners say about their tests: a JUnit report, or the closing lines of known runners.
//!
//! A known line only ever makes a verdict worse (a failed test, no test at all) or adds a count, so
//! a program that imitates one gains nothing.

use std::io::BufRead;

use bstr::ByteSlice as _;
use junit_parser::{TestStatus, TestSuite};
use muster_core::checks::verdict::{FAILED_TESTS_MAX, TestCounts, TestResults};

use super::output::plain;

/// Characters of the name of a test that are kept.
const NAME_CHARS_MAX: usize = 200;
/// Named tests of a report that are kept.
const NAMES_MAX: usize = 20_000;

/// Reads a JUnit report.
pub(super) fn junit(report: impl BufRead) -> Result<TestResults, String> {
    let suites = junit_parser::from_reader(report).map_err(|error| error.to_string())?;
    let mut results = TestResults::default();
    for suite in &suites.suites {
        add_suite(&mut results, suite);
    }
    Ok(results)
}

fn add_suite(results: &mut TestResults, suite: &TestSuite) {
    for case in &suite.cases {
        let class = case.classname.as_deref().unwrap_or(&suite.name);
        let name = shortened(&format!("{class}::{}", case.original_name));
        let counts = &mut results.counts;
        let is_skipped = match case.status {
            TestStatus::Success => {
                counts.passed += 1;
                false
            }
            TestStatus::Skipped(_) => {
                counts.skipped += 1;
                true
            }
            TestStatus::Failure(_) | TestStatus::Error(_) => {
                counts.failed += 1;
                add_failed(&mut results.failed, &name);
                false
            }
        };
        if results.names.len() < NAMES_MAX {
            results.names.insert(name, is_skipped);
        }
    }
    for inner in &suite.suites {
        add_suite(results, inner);
    }
}

fn add_failed(failed: &mut Vec<String>, name: &str) {
    let name = shortened(name.trim());
    if failed.len() < FAILED_TESTS_MAX && !name.is_empty() && !failed.contains(&name) {
        failed.push(name);
    }
}

fn shortened(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(NAME_CHARS_MAX).collect()
}

/// Reads the output of a check line by line.
#[derive(Default)]
pub(super) struct RunnerLines {
    /// Of the runners that print one total: cargo test, nextest, pytest, jest, vitest.
    totals: Option<TestCounts>,
    /// Of `node --test`, whose numbers are on lines of their own.
    node: Option<TestCounts>,
    tap: Option<TestCounts>,
    go: GoLines,
    failed: Vec<String>,
}

#[derive(Default)]
struct GoLines {
    /// Of single tests.
    tests: TestCounts,
    /// Packages that passed without saying how many tests they have.
    uncounted: bool,
    is_empty: bool,
}

impl RunnerLines {
    /// Takes the next line as it was printed.
    pub(super) fn take(&mut self, line: &[u8]) {
        if may_be_result(line) {
            self.read(plain(line).trim_end());
        }
    }

    fn read(&mut self, line: &str) {
        let total = cargo(line)
            .or_else(|| nextest(line))
            .or_else(|| pytest(line))
            .or_else(|| jest(line))
            .or_else(|| vitest(line));
        if let Some(total) = total {
            self.totals = Some(self.totals.unwrap_or_default().plus(total));
            return;
        }
        self.node(line);
        self.tap(line);
        self.go(line);
        if let Some(name) = failed_name(line) {
            add_failed(&mut self.failed, name);
        }
    }

    /// What the runners said; nothing if none is known.
    pub(super) fn results(self) -> Option<TestResults> {
        let go = self.go.counts();
        // `node --test` writes TAP, too, and counts its tests itself.
        let tap = if self.node.is_some() { None } else { self.tap };
        let counts =
            [self.totals, self.node, tap, go].into_iter().flatten().reduce(TestCounts::plus)?;
        Some(TestResults { counts, failed: self.failed, ..TestResults::default() })
    }

    fn node(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else {
            return;
        };
        let Some((word, number)) = rest.split_once(' ') else { return };
        let Ok(number) = number.parse::<u64>() else { return };
        let counts = match (word, &mut self.node) {
            ("tests", node) => node.insert(TestCounts::default()),
            (_, Some(counts)) => counts,
            (_, None) => return,
        };
        match word {
            "pass" => counts.passed += number,
            "fail" | "cancelled" => counts.failed += number,
            "skipped" | "todo" => counts.skipped += number,
            _ => {}
        }
    }

    fn tap(&mut self, line: &str) {
        if line.starts_with("TAP version ") || line == "1..0" {
            self.tap.get_or_insert_default();
        }
        let is_failed = line.starts_with("not ok ");
        let Some(rest) = line.strip_prefix("not ok ").or_else(|| line.strip_prefix("ok ")) else {
            return;
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        // `ok  package 0.1s` is a line of go.
        if digits == 0 || !matches!(rest.as_bytes().get(digits), None | Some(b' ')) {
            return;
        }
        let counts = self.tap.get_or_insert_default();
        let directive = rest.to_ascii_uppercase();
        if directive.contains("# SKIP") || directive.contains("# TODO") {
            counts.skipped += 1;
        } else if is_failed {
            counts.failed += 1;
            let name = rest[digits..].trim().trim_start_matches("- ");
            add_failed(&mut self.failed, name);
        } else {
            counts.passed += 1;
        }
    }

    fn go(&mut self, line: &str) {
        let trimmed = line.trim_start();
        let count = |prefix: &str| trimmed.starts_with(prefix) && trimmed.ends_with("s)");
        if count("--- PASS: ") {
            self.go.tests.passed += 1;
        } else if count("--- SKIP: ") {
            self.go.tests.skipped += 1;
        } else if count("--- FAIL: ") {
            self.go.tests.failed += 1;
            let name = trimmed["--- FAIL: ".len()..].split(' ').next().unwrap_or_default();
            add_failed(&mut self.failed, name);
        } else if line.starts_with("ok  \t") {
            match line.ends_with("[no tests to run]") {
                true => self.go.is_empty = true,
                false => self.go.uncounted = true,
            }
        } else if line.starts_with("?   \t") && line.ends_with("[no test files]") {
            self.go.is_empty = true;
        } else if line.starts_with("FAIL\t") && self.go.tests.failed == 0 {
            // A package that does not build has no test to name.
            self.go.tests.failed += 1;
        }
    }
}

impl GoLines {
    fn counts(&self) -> Option<TestCounts> {
        let has_tests = self.tests != TestCounts::default();
        let is_counted = has_tests || (self.is_empty && !self.uncounted);
        is_counted.then_some(self.tests)
    }
}

/// Whether a line could say something about tests. A program prints millions of lines, of which
/// few do, so most have to be recognized by a look at their first bytes.
fn may_be_result(line: &[u8]) -> bool {
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'='));
    let Some(start) = start.map(|start| &line[start..]) else { return false };
    let begins = |words: &[&str]| words.iter().any(|word| start.starts_with(word.as_bytes()));
    let is_known = match start[0] {
        b'0'..=b'9' => start.contains_str(" in ") || begins(&["1..0"]),
        b't' => begins(&["test result: "]) || line.trim_ascii_end().ends_with(b"FAILED"),
        b'n' => begins(&["no tests ran", "not ok "]),
        b'o' => begins(&["ok "]),
        b'#' => begins(&["# "]),
        b'-' => begins(&["--- "]),
        b'?' => begins(&["?   \t"]),
        b'E' => begins(&["ERROR "]),
        b'F' => begins(&["FAIL"]),
        b'N' => begins(&["No test"]),
        b'S' => begins(&["Summary ["]),
        b'T' => begins(&["Tests", "TAP version "]),
        // Escape sequences, and the first byte of bullets and crosses.
        0x1b | 0xe2 => true,
        _ => false,
    };
    is_known || line.find_byte(0x1b).is_some()
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s`
fn cargo(line: &str) -> Option<TestCounts> {
    // Nextest shows the output of a failed test, which has such a line, with spaces before it.
    let rest = line.strip_prefix("test result: ")?;
    let rest = rest.split_once(". ")?.1;
    let mut counts = TestCounts::default();
    for part in rest.split("; ") {
        let (number, word) = numbered(part)?;
        match word {
            "passed" => counts.passed = number,
            "failed" => counts.failed = number,
            "ignored" => counts.skipped = number,
            "measured" | "filtered out" => {}
            _ => break,
        }
        if word == "filtered out" {
            break;
        }
    }
    Some(counts)
}

/// `     Summary [   0.321s] 3 tests run: 2 passed (1 slow), 1 failed, 191 skipped`
fn nextest(line: &str) -> Option<TestCounts> {
    let rest = line.trim_start().strip_prefix("Summary [")?;
    let (_, rest) = rest.split_once("] ")?;
    let (_, rest) = rest.split_once(" run: ").or_else(|| rest.split_once(" run "))?;
    let mut counts = TestCounts::default();
    let plain = without_parentheses(rest);
    for part in plain.split(", ") {
        let Some((number, word)) = numbered(part) else { continue };
        match word {
            "passed" => counts.passed += number,
            "skipped" => counts.skipped += number,
            "failed" | "timed out" | "exec failed" => counts.failed += number,
            _ => {}
        }
    }
    Some(counts)
}

/// `===== 1 failed, 3 passed, 1 skipped in 0.12s =====`, and without the frame when it is quiet.
fn pytest(line: &str) -> Option<TestCounts> {
    let line = line.trim_matches(|letter: char| letter == '=' || letter == ' ');
    let (list, time) = line.rsplit_once(" in ")?;
    let seconds = time.split(['s', ' ']).next()?;
    seconds.parse::<f64>().ok()?;
    if list == "no tests ran" {
        return Some(TestCounts::default());
    }
    let mut counts = TestCounts::default();
    for part in list.split(", ") {
        let (number, word) = numbered(part)?;
        match word {
            "passed" | "xpassed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            "skipped" | "xfailed" => counts.skipped += number,
            "deselected" | "warning" | "warnings" | "rerun" => {}
            _ => return None,
        }
    }
    Some(counts)
}

/// `Tests:       1 failed, 2 skipped, 3 passed, 6 total`
fn jest(line: &str) -> Option<TestCounts> {
    if line.starts_with("No tests found, exiting") {
        return Some(TestCounts::default());
    }
    listed(line.strip_prefix("Tests: ")?, ", ")
}

/// `      Tests  1 failed | 3 passed | 1 skipped (5)`
fn vitest(line: &str) -> Option<TestCounts> {
    if line.starts_with("No test files found") {
        return Some(TestCounts::default());
    }
    let rest = line.trim_start().strip_prefix("Tests  ")?;
    listed(&without_parentheses(rest), " | ")
}

fn listed(list: &str, between: &str) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    for part in list.trim().split(between) {
        let (number, word) = numbered(part)?;
        match word {
            "passed" => counts.passed += number,
            "failed" => counts.failed += number,
            "skipped" | "todo" | "pending" => counts.skipped += number,
            "total" => {}
            _ => return None,
        }
    }
    Some(counts)
}

fn numbered(part: &str) -> Option<(u64, &str)> {
    let (number, word) = part.trim().split_once(' ')?;
    Some((number.parse().ok()?, word.trim()))
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    let keep = |letter: &char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    let kept: String = text.chars().filter(keep).collect();
    kept.replace(" ,", ",").trim().to_owned()
}

/// The name of a failed test, from the lines in which runners report one.
fn failed_name(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("test ") {
        return rest.strip_suffix(" ... FAILED");
    }
    if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
        let name = rest.split(" - ").next()?;
        return name.contains("::").then_some(name);
    }
    let trimmed = line.trim_start();
    if let Some(rest) = trimmed.strip_prefix("FAIL [") {
        let (_, name) = rest.split_once("] ")?;
        let name = name.trim_start();
        return match name.starts_with('(') {
            true => name.split_once(") ").map(|(_, name)| name),
            false => Some(name),
        };
    }
    if let Some(rest) = trimmed.strip_prefix("✖ ") {
        let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
        return (name != "failing tests:").then_some(name);
    }
    let rest = trimmed.strip_prefix("● ").or_else(|| trimmed.strip_prefix("FAIL  "))?;
    (rest.contains(" › ") || rest.contains(" > ")).then_some(rest)
}

#[cfg(test)]
mod tests;
