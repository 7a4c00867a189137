//! Outputs of real runners, and what is read from them.

use super::{RunnerLines, junit};

fn read(output: &str) -> String {
    let mut lines = RunnerLines::default();
    output.lines().for_each(|line| lines.take(line.as_bytes()));
    lines.results().map_or("unknown".to_owned(), |results| {
        let counts = results.counts;
        let failed = results.failed.join(", ");
        format!("{}/{}/{} {failed}", counts.passed, counts.failed, counts.skipped)
            .trim_end()
            .to_owned()
    })
}

#[test]
fn cargo_test_and_nextest() {
    let cargo = "test a::b ... ok\ntest a::c ... FAILED\n\ntest result: FAILED. 1 passed; \
        1 failed; 2 ignored; 0 measured; 4 filtered out; finished in 0.00s\n\
        test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    assert_eq!(read(cargo), "6/1/2 a::c");
    let none = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out";
    assert_eq!(read(none), "0/0/0");
    let nextest = "        FAIL [   0.004s] (2/3) c::bin a::c\n──\n   Summary [   0.3s] \
        3 tests run: 1 passed (1 slow), 1 failed, 1 timed out, 191 skipped";
    assert_eq!(read(nextest), "1/2/191 c::bin a::c");
    assert_eq!(read("     Summary [   0.000s] 0 tests run: 0 passed, 8 skipped"), "0/0/8");
}

#[test]
fn pytest_jest_and_vitest() {
    let pytest = "FAILED tests/test_a.py::test_x - assert 1 == 2\n\
        ===== 1 failed, 3 passed, 1 skipped, 2 warnings in 0.12s =====";
    assert_eq!(read(pytest), "3/1/1 tests/test_a.py::test_x");
    assert_eq!(read("3 passed in 0.01s"), "3/0/0");
    assert_eq!(read("===== no tests ran in 0.01s ====="), "0/0/0");
    assert_eq!(read("==== 2 passed in 61.10s (0:01:01) ===="), "2/0/0");
    let jest = "  ● sum › adds\nTests:       1 failed, 1 skipped, 3 passed, 5 total";
    assert_eq!(read(jest), "3/1/1 sum › adds");
    let vitest = " FAIL  src/a.test.ts > sum > adds\n      Tests  1 failed | 3 passed (4)";
    assert_eq!(read(vitest), "3/1/0 src/a.test.ts > sum > adds");
    assert_eq!(read("No test files found, exiting with code 0"), "0/0/0");
}

#[test]
fn node_tap_and_go() {
    let node = "✔ a (1ms)\n✖ b (2ms)\nℹ tests 3\nℹ suites 0\nℹ pass 1\nℹ fail 1\n\
        ℹ cancelled 0\nℹ skipped 1\nℹ todo 0\n✖ failing tests:";
    assert_eq!(read(node), "1/1/1 b");
    assert_eq!(
        read("TAP version 13\nok 1 - a\nnot ok 2 - b\n# tests 2\n# pass 1\n# fail 1"),
        "1/1/0 b"
    );
    assert_eq!(read("1..3\nok 1 - a\nnot ok 2 - b\nok 3 # SKIP no network"), "1/1/1 b");
    assert_eq!(read("1..0"), "0/0/0");
    let go = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.01s)\n\
        FAIL\nFAIL\tx\t0.0s";
    assert_eq!(read(go), "1/1/0 TestB");
    assert_eq!(read("?   \tx\t[no test files]"), "0/0/0");
    assert_eq!(read("ok  \tx\t0.01s [no tests to run]"), "0/0/0");
    assert_eq!(read("ok  \tx\t0.01s\n?   \ty\t[no test files]"), "unknown");
    assert_eq!(read("FAIL\tx [build failed]"), "0/1/0");
}

#[test]
fn several_runners_add_up_and_prose_is_not_a_result() {
    let both = "test result: ok. 5 passed; 0 failed; 0 ignored\n2 passed in 0.01s";
    assert_eq!(read(both), "7/0/0");
    for prose in ["3 apples in 2 days", "ok", "ok then", "Tests: none", "test x", "Summary [1]"] {
        assert_eq!(read(prose), "unknown", "{prose}");
    }
}

#[test]
fn colors_hide_nothing() {
    let colored = "test a::c ... \x1b[31mFAILED\x1b[0m\n\x1b[1mtest result\x1b[0m: FAILED. \
        1 passed; 1 failed; 0 ignored";
    assert_eq!(read(colored), "1/1/0 a::c");
    assert_eq!(read("\x1b[32m\x1b[1m3 passed\x1b[0m\x1b[32m in 0.01s\x1b[0m"), "3/0/0");
    assert_eq!(read("T\x1b[1mests:\x1b[0m   2 passed, 2 total"), "2/0/0");
}

#[test]
fn a_junit_report_names_its_tests() {
    let report = r#"<testsuites><testsuite name="s" tests="3" failures="1" errors="0">
        <testcase name="a" classname="c" time="0.1"/>
        <testcase name="b" classname="c"><failure message="no">text</failure></testcase>
        <testcase name="d" classname="c"><skipped/></testcase>
        </testsuite></testsuites>"#;
    let results = junit(report.as_bytes()).unwrap();
    assert_eq!(results.failed, ["c::b"]);
    let names: Vec<_> =
        results.names.iter().map(|(name, skipped)| (name.as_str(), *skipped)).collect();
    assert_eq!(names, [("c::a", false), ("c::b", false), ("c::d", true)]);
    assert!(junit("<testsuites><testsuite".as_bytes()).is_err());
}

#[test]
fn the_output_of_a_failed_test_in_that_of_nextest_is_not_counted() {
    let read = read(
        "    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 1 filtered out\n     \
         Summary [   0.005s] 2 tests run: 1 passed, 1 failed, 0 skipped",
    );
    assert_eq!(read, "1/1/0");
}
