//! Session vectors.

pub mod ctree_events;

#[cfg(test)]
mod tests;
