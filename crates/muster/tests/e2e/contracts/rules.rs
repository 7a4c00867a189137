//! Every rule of the contract has a vector or a test, or waits for an operation by name.

use muster_testkit::vectors::{Coverage, is_named_after};

/// How many rules wait, in whole or in part. It only goes down.
const PENDING_RULES: usize = 0;

#[test]
fn every_rule_has_a_vector_or_waits_for_an_operation() {
    let coverage = Coverage::read(&super::folder()).unwrap();
    let faults = coverage.faults(&super::repository());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(coverage.pending.len(), PENDING_RULES, "the list only shrinks: lower the number");
}

#[test]
fn every_rule_of_runs_has_a_test_that_is_named_after_it() {
    let folder = super::repository().join("tests/contracts/runs");
    let coverage = Coverage::read(&folder).unwrap();
    let mut faults = coverage.faults(&super::repository());
    for (rule, file, function) in &coverage.tested {
        if !is_named_after(rule, function) {
            faults.push(format!("{rule}: {function} in {file} is not named after it"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(coverage.pending.is_empty(), "no rule waits");
}
