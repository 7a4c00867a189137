//! The store under power loss and failing calls, each with a control that must be caught.

mod disk;
mod power;
mod sweep;
mod workload;

/// How much to test: a glance on every run, everything when `MUSTER_TEST_FULL=1` asks for it.
fn sized(glance: u64, everything: u64) -> u64 {
    match std::env::var("MUSTER_TEST_FULL") {
        Ok(value) if value == "1" => everything,
        _ => glance,
    }
}
