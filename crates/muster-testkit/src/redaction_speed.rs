//! How fast secrets are looked for. The core has no clock, so this is here.

use std::time::Instant;

use muster_core::redact;

/// Run it with `cargo test --release -p muster-testkit -- --ignored redaction_is_fast`.
#[test]
#[ignore = "measures, and only an optimized build is worth measuring"]
fn redaction_is_fast() {
    const BYTES: usize = 64 * 1024 * 1024;
    const MB_PER_SECOND_MIN: f64 = 100.0;
    let page = include_str!("faults.rs");
    let long = page.repeat(BYTES / page.len());
    let began = Instant::now();
    assert_eq!(redact::text(&long), None);
    let speed = long.len() as f64 / 1e6 / began.elapsed().as_secs_f64();
    println!("{speed:.0} MB/s");
    assert!(cfg!(debug_assertions) || speed > MB_PER_SECOND_MIN, "{speed:.0} MB/s");
}
