//! Streams of named tokens: counted, and ended when their token is revoked or expires.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use hyper::body::Frame;
use muster_api::NamedToken;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Interval, MissedTickBehavior, interval},
};

use super::RequestGuard;
use crate::{limits::TOKEN_CHECK_EVERY, refusal::HttpRefusal};

/// The right of a token to one open stream.
#[derive(Clone)]
pub(crate) struct StreamPass {
    gate: Arc<RequestGuard>,
    token: Arc<NamedToken>,
    /// Held until the stream ends.
    _place: Arc<OwnedSemaphorePermit>,
}

impl StreamPass {
    pub(super) fn of(
        gate: &Arc<RequestGuard>,
        token: &Arc<NamedToken>,
    ) -> Result<Self, HttpRefusal> {
        let place = Arc::new(gate.quotas.stream(token)?);
        Ok(Self { gate: Arc::clone(gate), token: Arc::clone(token), _place: place })
    }

    /// Whether the token may still be used. A store that cannot be read decides nothing.
    fn is_valid(&self) -> bool {
        match self.gate.source.live_token(&self.token.digest) {
            Ok(found) => found.is_some(),
            Err(error) => {
                tracing::warn!(%error, "could not look up the token of a stream");
                true
            }
        }
    }

    /// Waits until the token is revoked or expires. May be dropped at any time.
    pub(crate) async fn revoked(&self) {
        let mut checks = checks();
        loop {
            checks.tick().await;
            if !self.is_valid() {
                return;
            }
        }
    }

    /// A body that ends with the token.
    pub(super) fn limit(self, body: Body) -> Body {
        Body::new(PassedBody { body, pass: self, checks: checks() })
    }
}

fn checks() -> Interval {
    let mut checks = interval(TOKEN_CHECK_EVERY);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    checks
}

struct PassedBody {
    body: Body,
    pass: StreamPass,
    checks: Interval,
}

impl hyper::body::Body for PassedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // Also arranges to be woken for the next check of a quiet stream.
        while self.checks.poll_tick(context).is_ready() {
            if !self.pass.is_valid() {
                return Poll::Ready(None);
            }
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
