//! Power loss and killed processes: nothing that was acknowledged is lost, wherever the cut falls.

use std::time::Instant;

use muster_store::Synchronous;

use super::{
    sized,
    workload::{Acknowledge, Bench, Tally},
};

/// Cuts on one disk before a new one is taken.
const CUTS_PER_DISK: u64 = 20;
/// Changes after which the power is cut at the latest.
const CHANGES_MAX: u64 = 400;

/// Cuts the power N times and counts the outcomes.
fn cut_power(cuts: u64, synchronous: Synchronous, acknowledge: Acknowledge) -> Tally {
    let started = Instant::now();
    let mut bench = Bench::new(1, synchronous, acknowledge);
    for cut in 0..cuts {
        if cut % CUTS_PER_DISK == 0 {
            bench.start_over(cut);
        }
        // Half of the cuts fall early, into opening, recovery or the first layout.
        let range = if bench.chance.one_in(2) { CHANGES_MAX / 10 } else { CHANGES_MAX };
        let changes = 1 + bench.chance.below(range);
        bench.disk.cut_power_after(changes);
        if let Ok(store) = bench.open() {
            while bench.disk.has_power() {
                if bench.step(&store).is_err() {
                    break;
                }
            }
        }
        // Some cuts only end the process: what was written stays, synced or not, and is built upon.
        if bench.chance.one_in(4) {
            bench.disk.restore_power();
        } else {
            bench.disk.cycle_power();
        }
        // Without a look in between, the next cut can fall into the recovery from this one.
        if !bench.chance.one_in(3) || cut % CUTS_PER_DISK == CUTS_PER_DISK - 1 {
            bench.verify();
        }
    }
    println!("{cuts} cuts, {synchronous:?}, {acknowledge:?}: {:?}", bench.tally);
    println!("took {:.1} s", started.elapsed().as_secs_f64());
    bench.tally
}

#[test]
fn no_acknowledged_write_is_lost_with_the_power() {
    let cuts = sized(1_000, 20_000);
    let tally = cut_power(cuts, Synchronous::Full, Acknowledge::AfterCommit);
    assert!(tally.acknowledged > cuts * 5, "{tally:?}");
    assert_eq!((tally.lost, tally.corrupt), (0, 0), "{tally:?}");
}

#[test]
fn control_a_store_that_does_not_sync_loses_writes_but_stays_whole() {
    let cuts = sized(300, 5_000);
    let tally = cut_power(cuts, Synchronous::Normal, Acknowledge::AfterCommit);
    assert!(tally.lost > tally.acknowledged / 100, "{tally:?}");
    assert_eq!(tally.corrupt, 0, "{tally:?}");
}

#[test]
fn control_a_writer_that_acknowledges_too_early_is_caught() {
    let tally = cut_power(sized(300, 2_000), Synchronous::Full, Acknowledge::BeforeCommit);
    assert!(tally.lost > 0, "{tally:?}");
    assert_eq!(tally.corrupt, 0, "{tally:?}");
}
