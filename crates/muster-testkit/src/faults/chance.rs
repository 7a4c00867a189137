//! Numbers that look random and follow from a seed.

/// A small generator (splitmix64): the same seed gives the same numbers, always and everywhere.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The numbers that follow from this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below the limit, which must not be zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// True in one of N cases.
    pub fn one_in(&mut self, cases: u64) -> bool {
        self.below(cases) == 0
    }
}
