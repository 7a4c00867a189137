//! When a failed turn is retried (RUNS-TURN-7).

use super::turn::{RetryPolicy, TurnReason};

const FIRST_DELAY_MS: u64 = 5_000;
const DELAY_MS_MAX: u64 = 300_000;
const FIRST_RATE_DELAY_MS: u64 = 60_000;
const RATE_DELAY_MS_MAX: u64 = 900_000;
/// Retries of a turn that the provider put off.
const RATE_TRIES_MAX: u32 = 5;
/// Share by which a pause may be shorter or longer.
const JITTER_PERCENT: u64 = 20;

/// A retry that is due after a pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// The pause.
    pub ms: u64,
    pub max: u32,
}

/// The pause before the retry that follows failure number `failures`; `None` when there is none.
///
/// `chance` is any random number; it moves the pause by up to a fifth, and only lengthens one that
/// the provider requested.
pub fn pause(
    policy: RetryPolicy,
    failures: u32,
    retry_max: u32,
    hint_ms: Option<u32>,
    chance: u64,
) -> Option<Pause> {
    let (max, ms) = match policy {
        RetryPolicy::Never => return None,
        RetryPolicy::AtOnce => return Some(Pause { ms: 0, max: retry_max }),
        RetryPolicy::OnceAfterReset => (1, FIRST_DELAY_MS),
        RetryPolicy::Growing => (retry_max, grown(FIRST_DELAY_MS, 4, failures, DELAY_MS_MAX)),
        RetryPolicy::RateLimit => {
            let grown = grown(FIRST_RATE_DELAY_MS, 2, failures, RATE_DELAY_MS_MAX);
            if let Some(hint) = hint_ms {
                let ms = later(hint.into(), chance);
                return (failures <= RATE_TRIES_MAX).then_some(Pause { ms, max: RATE_TRIES_MAX });
            }
            (RATE_TRIES_MAX, grown)
        }
    };
    (failures <= max).then(|| Pause { ms: moved(ms, chance), max })
}

/// Whether the inputs of a turn may have caused it. An agent that could not even begin, or that
/// needs a login or a pause, proves nothing about its inputs.
pub fn blames_inputs(reason: TurnReason) -> bool {
    match reason {
        TurnReason::Exited
        | TurnReason::Silent
        | TurnReason::TurnTimeout
        | TurnReason::ProtocolError
        | TurnReason::ProviderError
        | TurnReason::ContextOverflow => true,
        TurnReason::Done
        | TurnReason::UserInterrupt
        | TurnReason::RunPaused
        | TurnReason::ServerRestart
        | TurnReason::ServerShutdown
        | TurnReason::NodeStopped
        | TurnReason::NodeReset
        | TurnReason::NodeDeleted
        | TurnReason::RunDeleted
        | TurnReason::RunCompleted
        | TurnReason::SpawnFailed
        | TurnReason::HandshakeFailed
        | TurnReason::RateLimited
        | TurnReason::AuthRequired
        | TurnReason::TemplateMissing
        | TurnReason::PromptTooLarge
        | TurnReason::WorktreeFailed
        | TurnReason::BudgetExceeded
        | TurnReason::StoreFailed => false,
    }
}

fn grown(first: u64, factor: u64, failures: u32, max: u64) -> u64 {
    let exponent = failures.saturating_sub(1);
    factor.checked_pow(exponent).and_then(|grown| first.checked_mul(grown)).unwrap_or(max).min(max)
}

/// A requested pause is never shortened.
fn later(ms: u64, chance: u64) -> u64 {
    ms.saturating_mul(100 + chance % (JITTER_PERCENT + 1)) / 100
}

fn moved(ms: u64, chance: u64) -> u64 {
    let percent = 100 - JITTER_PERCENT + chance % (2 * JITTER_PERCENT + 1);
    ms * percent / 100
}

#[cfg(test)]
mod tests {
    use super::{Pause, pause};
    use crate::run::turn::RetryPolicy;

    /// A chance that moves nothing.
    const EVEN: u64 = 20;

    #[test]
    fn runs_turn_7_pauses_grow_and_end() {
        let of = |policy, failures, retries| {
            pause(policy, failures, retries, None, EVEN).map(|pause| pause.ms)
        };
        let growing: Vec<_> = (1..=6).map(|k| of(RetryPolicy::Growing, k, 5)).collect();
        let expected =
            [Some(5_000), Some(20_000), Some(80_000), Some(300_000), Some(300_000), None];
        assert_eq!(growing, expected);
        let rated: Vec<_> = (1..=6).map(|k| of(RetryPolicy::RateLimit, k, 0)).collect();
        let expected =
            [Some(60_000), Some(120_000), Some(240_000), Some(480_000), Some(900_000), None];
        assert_eq!(rated, expected);
        assert_eq!(of(RetryPolicy::Growing, 1, 0), None);
        assert_eq!(of(RetryPolicy::Never, 1, 5), None);
        assert_eq!(of(RetryPolicy::OnceAfterReset, 1, 0), Some(5_000));
        assert_eq!(of(RetryPolicy::OnceAfterReset, 2, 5), None);
        let hinted = |chance| pause(RetryPolicy::RateLimit, 1, 0, Some(7_000), chance);
        assert_eq!(hinted(0), Some(Pause { ms: 7_000, max: 5 }));
        assert_eq!(hinted(EVEN), Some(Pause { ms: 8_400, max: 5 }));
        assert_eq!(pause(RetryPolicy::RateLimit, 6, 0, Some(7_000), 0), None);
    }

    #[test]
    fn runs_turn_7_pauses_move_by_a_fifth_at_most() {
        for chance in 0..1_000 {
            let moved = pause(RetryPolicy::Growing, 1, 1, None, chance).unwrap().ms;
            assert!((4_000..=6_000).contains(&moved), "{moved}");
            let hinted = pause(RetryPolicy::RateLimit, 1, 1, Some(5_000), chance).unwrap().ms;
            assert!((5_000..=6_000).contains(&hinted), "{hinted}");
        }
    }
}
