//! The disk itself does what it says; otherwise the tests above it prove nothing.

use crate::faults::{chance::Chance, file::File};

fn content(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.len()];
    assert_eq!(file.read(0, &mut bytes), file.len());
    bytes
}

#[test]
fn what_was_synced_survives_whatever_happens() {
    for seed in 0..500 {
        let mut chance = Chance::new(seed);
        let mut file = File::default();
        file.write(100, &[1; 3_000]);
        file.truncate(2_000);
        file.write(5_000, &[2; 100]);
        file.sync();
        let synced = content(&file);
        file.write(5_100, &[3; 2_000]);
        assert!(file.lose_power(&mut chance));
        assert_eq!(content(&file)[..synced.len()], synced);
    }
}

#[test]
fn what_was_not_synced_is_kept_dropped_or_torn() {
    let mut kept = 0;
    let mut dropped = 0;
    let mut torn = 0;
    let mut gone = 0;
    for seed in 0..500 {
        let mut chance = Chance::new(seed);
        let mut file = File::default();
        file.write(0, &[1; 512]);
        if seed % 2 == 0 {
            file.sync();
            file.write(0, &[2; 512]);
        }
        if !file.lose_power(&mut chance) {
            gone += 1;
            continue;
        }
        let bytes = content(&file);
        let new = bytes.iter().filter(|byte| **byte == if seed % 2 == 0 { 2 } else { 1 }).count();
        match new {
            0 => dropped += 1,
            512 => kept += 1,
            _ => torn += 1,
        }
    }
    assert!(kept > 50 && dropped > 50 && torn > 5 && gone > 50, "{kept} {dropped} {torn} {gone}");
}

#[test]
fn a_failed_sync_forgets_what_did_not_arrive() {
    let lost = (0..100).filter(|seed| {
        let mut chance = Chance::new(*seed);
        let mut file = File::default();
        file.write(0, &[0; 4096]);
        file.sync();
        file.write(0, &[7; 4096]);
        file.fail_sync(&mut chance);
        assert_eq!(content(&file), [7; 4096], "the system still shows it");
        file.sync();
        assert!(file.lose_power(&mut chance));
        content(&file) != [7; 4096]
    });
    assert!(lost.count() > 90, "a sync that works later does not bring it back");
}
