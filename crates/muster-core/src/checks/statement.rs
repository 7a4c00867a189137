//! A run of a check as an in-toto statement, so that other tools can read what was proven.
//!
//! ```text
//!   subject        the files, by Muster's digest of them; the commit, if they were its files
//!   predicate      test-result v0.1: result, tests by name as far as they are known
//!   configuration  the definition of the check with its digest, and which run it was
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    definition::CheckDefinition,
    record::{CheckRecord, CheckTests},
};
use crate::tasks::id::CheckRunId;

pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of its predicate.
pub const TEST_RESULT_TYPE: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// Key of Muster's digest of all files: SHA-256 over path, kind, mode and hash of each, in hex.
const TREE_DIGEST: &str = "musterTree";
const COMMIT_DIGEST: &str = "gitCommit";
const RUN: &str = "run";

/// An in-toto statement about a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TestStatement {
    #[serde(rename = "_type")]
    pub statement_type: String,
    pub subject: Vec<StatementResource>,
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: TestResultPredicate,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResultPredicate {
    pub result: StatementResult,
    pub configuration: Vec<StatementResource>,
    #[serde(default)]
    pub passed_tests: Vec<String>,
    #[serde(default)]
    pub warned_tests: Vec<String>,
    #[serde(default)]
    pub failed_tests: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StatementResult {
    Passed,
    Warned,
    Failed,
}

/// Something that a statement is about or refers to.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StatementResource {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub digest: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
}

/// What is known about a run besides its record.
#[derive(Clone, Copy, Default)]
pub struct StatementFacts<'a> {
    pub tests: Option<&'a CheckTests>,
    /// The definition that the record names by its digest.
    pub definition: Option<&'a CheckDefinition>,
    /// Whether the files were exactly those of the commit.
    pub is_commit: bool,
}

impl TestStatement {
    /// The statement about a finished run; `None` without a verdict, or if it proves nothing here.
    #[must_use]
    pub fn of(record: &CheckRecord, facts: StatementFacts<'_>) -> Option<Self> {
        if record.imported {
            return None;
        }
        let is_pass = record.verdict?.is_pass();
        let names = facts.tests.into_iter().flat_map(|tests| &tests.names);
        let passed_tests = names.filter(|(_, skipped)| !**skipped).map(|(name, _)| name.clone());
        Some(Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: subject(record, facts.is_commit),
            predicate_type: TEST_RESULT_TYPE.to_owned(),
            predicate: TestResultPredicate {
                result: if is_pass { StatementResult::Passed } else { StatementResult::Failed },
                configuration: vec![configuration(record, facts.definition)],
                passed_tests: passed_tests.collect(),
                warned_tests: Vec::new(),
                failed_tests: record.failed_tests.clone(),
            },
        })
    }

    /// The run it is about.
    #[must_use]
    pub fn run(&self) -> Option<CheckRunId> {
        let named = self.predicate.configuration.first()?.annotations.get(RUN)?;
        named.as_str()?.parse().ok()
    }

    /// In what it differs from what a store knows about the run, in words; nothing if they agree.
    #[must_use]
    pub fn differences(&self, record: &CheckRecord, tests: Option<&CheckTests>) -> Vec<String> {
        let facts = StatementFacts { tests, is_commit: true, definition: None };
        let Some(known) = Self::of(record, facts) else {
            return vec![format!("{} proves nothing in this store", record.id)];
        };
        let mut found = Vec::new();
        let mut compare = |what: &str, is_same: bool| {
            if !is_same {
                found.push(format!("{what} of {} differs", record.id));
            }
        };
        let types = [&self.statement_type, &self.predicate_type];
        compare("the type", types == [&known.statement_type, &known.predicate_type]);
        compare("the result", self.predicate.result == known.predicate.result);
        let digests = |resources: &[StatementResource]| -> Vec<BTreeMap<String, String>> {
            resources.iter().map(|resource| resource.digest.clone()).collect()
        };
        let definitions = digests(&self.predicate.configuration);
        compare("the definition", definitions == digests(&known.predicate.configuration));
        let own = digests(&self.subject);
        let all = digests(&known.subject);
        let is_known = own.iter().all(|digest| all.contains(digest));
        compare("the subject", is_known && own.first() == all.first());
        let lists = |statement: &Self| {
            let TestResultPredicate { passed_tests, warned_tests, failed_tests, .. } =
                statement.predicate.clone();
            [passed_tests, warned_tests, failed_tests]
        };
        compare("the list of tests", lists(self) == lists(&known));
        found
    }
}

fn subject(record: &CheckRecord, is_commit: bool) -> Vec<StatementResource> {
    let resource = |name: &str, key: &str, digest: &str| StatementResource {
        name: name.to_owned(),
        digest: BTreeMap::from([(key.to_owned(), digest.to_owned())]),
        annotations: Map::new(),
    };
    let files = &record.files;
    let commit = Some(&files.commit).filter(|commit| is_commit && !commit.is_empty());
    let commit = commit.map(|commit| resource("commit", COMMIT_DIGEST, commit));
    [resource("files", TREE_DIGEST, &files.tree)].into_iter().chain(commit).collect()
}

fn configuration(record: &CheckRecord, definition: Option<&CheckDefinition>) -> StatementResource {
    let mut annotations = Map::from_iter([(RUN.to_owned(), json!(record.id))]);
    let mut add = |key: &str, value: Option<Value>| {
        annotations.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("finishedOn", record.finished_at.map(|at| json!(at.rfc3339())));
    add("verdict", record.verdict.map(|verdict| json!(verdict)));
    add("scope", Some(json!(record.files.scope)));
    add("head", Some(&record.files.commit).filter(|commit| !commit.is_empty()).map(|at| json!(at)));
    let definition = definition.filter(|definition| definition.digest() == record.definition);
    add("definition", definition.map(|definition| json!(definition)));
    StatementResource {
        name: format!("check {}", record.check),
        digest: BTreeMap::from([("sha256".to_owned(), record.definition.clone())]),
        annotations,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::{StatementFacts, TestStatement};
    use crate::{
        checks::{
            definition::{CheckCommand, CheckDefinition},
            record::{CheckRecord, CheckTests, TreeState, tests::record},
            verdict::Verdict,
        },
        tasks::step::Checkpoints,
    };

    fn definition() -> CheckDefinition {
        CheckDefinition {
            run: CheckCommand::Shell("cargo test".to_owned()),
            timeout_seconds: 60,
            report: None,
            paths: Vec::new(),
            proves: Checkpoints::new(),
            clean: false,
            required: true,
            env: BTreeMap::new(),
            guard_count: true,
        }
    }

    fn tests() -> CheckTests {
        CheckTests { names: [("a".to_owned(), false), ("b".to_owned(), true)].into() }
    }

    fn pass() -> CheckRecord {
        let files = TreeState {
            tree: "7".repeat(64),
            scope: "8".repeat(64),
            commit: "9".repeat(40),
            ..TreeState::default()
        };
        CheckRecord { files, definition: definition().digest(), ..record(1, 1, 1) }
    }

    fn stated(record: &CheckRecord, is_commit: bool) -> TestStatement {
        let facts =
            StatementFacts { tests: Some(&tests()), definition: Some(&definition()), is_commit };
        TestStatement::of(record, facts).unwrap()
    }

    /// A resource descriptor: at least one of uri, digest and content; digests are strings.
    fn is_descriptor(resource: &Value) -> bool {
        const KEYS: [&str; 7] =
            ["name", "uri", "digest", "content", "downloadLocation", "mediaType", "annotations"];
        let fields = resource.as_object().unwrap();
        let digest = fields.get("digest").and_then(Value::as_object);
        let is_named = digest.is_some_and(|digest| {
            !digest.is_empty() && digest.values().all(|value| !value.as_str().unwrap().is_empty())
        });
        fields.keys().all(|key| KEYS.contains(&key.as_str()))
            && (is_named || fields.contains_key("uri") || fields.contains_key("content"))
    }

    /// The fields that Statement v1 and test-result v0.1 require, and no others.
    fn assert_published_form(statement: &Value) {
        let keys: Vec<&str> = statement.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["_type", "subject", "predicateType", "predicate"]);
        assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
        let predicate_type = "https://in-toto.io/attestation/test-result/v0.1";
        assert_eq!(statement["predicateType"], predicate_type);
        let subject = statement["subject"].as_array().unwrap();
        assert!(!subject.is_empty());
        assert!(subject.iter().all(|one| is_descriptor(one) && one.get("digest").is_some()));
        let predicate = statement["predicate"].as_object().unwrap();
        let result = predicate["result"].as_str().unwrap();
        assert!(["PASSED", "WARNED", "FAILED"].contains(&result), "{result}");
        let configuration = predicate["configuration"].as_array().unwrap();
        assert!(!configuration.is_empty() && configuration.iter().all(is_descriptor));
        for (key, value) in predicate {
            match key.as_str() {
                "result" | "configuration" => {}
                "passedTests" | "warnedTests" | "failedTests" => {
                    assert!(value.as_array().unwrap().iter().all(Value::is_string), "{key}");
                }
                other => panic!("{other} is not a field of test-result"),
            }
        }
    }

    #[test]
    fn a_statement_has_the_published_form() {
        let failed = CheckRecord {
            verdict: Some(Verdict::TimedOut),
            failed_tests: vec!["c".to_owned()],
            ..pass()
        };
        for record in [pass(), failed] {
            for is_commit in [true, false] {
                assert_published_form(&json!(stated(&record, is_commit)));
            }
        }
        let statement = json!(stated(&pass(), true));
        assert_eq!(statement["predicate"]["result"], "PASSED");
        assert_eq!(statement["predicate"]["passedTests"], json!(["a"]), "b was skipped");
        assert_eq!(statement["subject"][0]["digest"], json!({"musterTree": "7".repeat(64)}));
        assert_eq!(statement["subject"][1]["digest"], json!({"gitCommit": "9".repeat(40)}));
        let configuration = &statement["predicate"]["configuration"][0];
        assert_eq!(configuration["digest"], json!({"sha256": definition().digest()}));
        assert_eq!(configuration["annotations"]["definition"], json!(definition()));
        assert_eq!(configuration["annotations"]["run"], "CHK-000001");
    }

    #[test]
    fn the_commit_is_a_subject_only_if_the_files_were_its_files() {
        let subject = stated(&pass(), false).subject;
        assert_eq!(subject.len(), 1);
        assert_eq!(subject[0].name, "files");
    }

    #[test]
    fn a_statement_that_was_changed_differs_from_the_store() {
        let record = pass();
        let statement = stated(&record, true);
        assert_eq!(statement.differences(&record, Some(&tests())), [""; 0]);
        let mut other = statement.clone();
        other.subject[0].digest.insert("musterTree".to_owned(), "0".repeat(64));
        other.predicate.passed_tests.push("invented".to_owned());
        assert_eq!(
            other.differences(&record, Some(&tests())),
            ["the subject of CHK-000001 differs", "the list of tests of CHK-000001 differs"]
        );
        let failed = CheckRecord { verdict: Some(Verdict::Failed), ..record.clone() };
        let found = statement.differences(&failed, Some(&tests()));
        assert_eq!(found, ["the result of CHK-000001 differs"]);
        let imported = CheckRecord { imported: true, ..record };
        assert_eq!(
            statement.differences(&imported, None),
            ["CHK-000001 proves nothing in this store"]
        );
        assert!(TestStatement::of(&imported, StatementFacts::default()).is_none());
    }
}
