//! The fault sweep: call after call is made to fail, in every way, once and for good.

use std::time::Instant;

use muster_store::Synchronous;

use super::{
    sized,
    workload::{Acknowledge, Bench, Tally},
};
use crate::faults::{Fault, FaultKind, Lasting};

/// Transactions tried on each failing disk; enough for about this many calls.
const ATTEMPTS: u64 = 40;
const CALLS_MAX: u64 = 1_000;

const VARIANTS: [(FaultKind, Lasting); 6] = [
    (FaultKind::Broken, Lasting::Once),
    (FaultKind::Broken, Lasting::Always),
    (FaultKind::Full, Lasting::Once),
    (FaultKind::Full, Lasting::Always),
    (FaultKind::SyncFailed, Lasting::Once),
    (FaultKind::SyncFailed, Lasting::Always),
];

/// What a sweep saw beside the tally.
#[derive(Debug, Default)]
struct Sweep {
    points: u64,
    fired: u64,
    tally: Tally,
    /// Acknowledgements by a disk that can no longer take anything.
    impossible: u64,
    /// Disks that failed once and did not take the last attempt afterwards.
    stuck: u64,
}

/// Lets one call fail, goes on as long as there is something to try, and cuts the power at the end.
fn point(bench: &mut Bench, fault: Fault, sweep: &mut Sweep) {
    bench.start_over(fault.call);
    // Half of the disks have a store with content, the others fail while it is made.
    if fault.call.is_multiple_of(2) {
        let store = bench.open().unwrap();
        for _ in 0..5 {
            bench.step(&store).unwrap();
        }
    }
    bench.disk.arm(fault);
    let mut store = None;
    let mut killed = false;
    let mut stuck = false;
    for _ in 0..ATTEMPTS {
        let fired = bench.disk.fired() > 0;
        let before = bench.tally.acknowledged;
        if fired && !killed && fault.call.is_multiple_of(3) {
            // The process is killed after the failure, and another one opens what it left.
            bench.disk.cut_power_after(0);
            store = None;
            bench.disk.restore_power();
            killed = true;
        }
        store = store.or_else(|| bench.open().ok());
        let taken = store.as_ref().is_some_and(|store| bench.step(store).is_ok());
        stuck = fired && !taken;
        if fired && fault.lasting == Lasting::Always {
            sweep.impossible += bench.tally.acknowledged - before;
        }
    }
    let fired = bench.disk.fired();
    drop(store);
    bench.disk.cycle_power();
    bench.verify();
    sweep.points += 1;
    sweep.fired += u64::from(fired > 0);
    sweep.stuck += u64::from(fault.lasting == Lasting::Once && stuck);
}

fn sweep(stride: u64, acknowledge: Acknowledge) -> Sweep {
    let started = Instant::now();
    let mut sweep = Sweep::default();
    let mut bench = Bench::new(1, Synchronous::Full, acknowledge);
    for (kind, lasting) in VARIANTS {
        for call in (1..=CALLS_MAX).filter(|call| call % stride == 1 % stride) {
            point(&mut bench, Fault { call, kind, lasting }, &mut sweep);
        }
    }
    sweep.tally = bench.tally;
    println!("{acknowledge:?}: {sweep:?}, took {:.1} s", started.elapsed().as_secs_f64());
    sweep
}

#[test]
fn no_failing_call_loses_or_corrupts_anything() {
    let sweep = sweep(sized(23, 1), Acknowledge::AfterCommit);
    let tally = sweep.tally;
    assert!(sweep.fired * 10 > sweep.points * 9, "{sweep:?}");
    assert!(tally.refused > 0 && tally.refused_as_full > 0, "{sweep:?}");
    assert_eq!((tally.lost, tally.corrupt), (0, 0), "{sweep:?}");
    assert_eq!((sweep.impossible, sweep.stuck), (0, 0), "{sweep:?}");
}

#[test]
fn control_a_writer_that_acknowledges_too_early_is_caught() {
    let sweep = sweep(sized(47, 7), Acknowledge::BeforeCommit);
    assert!(sweep.tally.lost > 0 && sweep.impossible > 0, "{sweep:?}");
    assert_eq!(sweep.tally.corrupt, 0, "{sweep:?}");
}
