//! How many clients the server accepts: as many as it has file descriptors for, up to the
//! limits of this surface.

use crate::limits::{CONNECTIONS_MAX, DESCRIPTORS_RESERVED, SOCKETS_MAX};

/// Places for clients. A connection gives up its place when it becomes a WebSocket, which has its
/// own limit, so the two share the descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// HTTP connections at once.
    pub(crate) connections: usize,
    /// WebSockets at once.
    pub(crate) sockets: u32,
}

impl Capacity {
    /// The capacity for this many descriptors; without a number, the limits.
    pub(crate) fn within(descriptors: Option<u64>) -> Self {
        let Some(descriptors) = descriptors else {
            return Self { connections: CONNECTIONS_MAX, sockets: SOCKETS_MAX };
        };
        // A process with few descriptors keeps half of them for the store, runs and their programs.
        let reserved = DESCRIPTORS_RESERVED.min(descriptors / 2);
        let each = (descriptors - reserved) / 2;
        Self {
            connections: usize::try_from(each).unwrap_or(usize::MAX).clamp(1, CONNECTIONS_MAX),
            sockets: u32::try_from(each).unwrap_or(u32::MAX).clamp(1, SOCKETS_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Capacity;
    use crate::limits::{CONNECTIONS_MAX, SOCKETS_MAX};

    #[test]
    fn clients_and_the_rest_share_the_descriptors() {
        let of = |descriptors| {
            let Capacity { connections, sockets } = Capacity::within(Some(descriptors));
            (connections, sockets)
        };
        assert_eq!(of(0), (1, 1));
        assert_eq!(of(256), (64, 64));
        assert_eq!(of(1_024), (256, 256));
        assert_eq!(of(4_096), (1_792, 1_792));
        assert_eq!(of(u64::MAX), (CONNECTIONS_MAX, SOCKETS_MAX));
        let whole = Capacity { connections: CONNECTIONS_MAX, sockets: SOCKETS_MAX };
        assert_eq!(Capacity::within(None), whole);
    }
}
