//! Upgrades a request to a WebSocket (RFC 6455, section 4.2).
//!
//! The bare connection is taken out of HTTP, so that events that are already
//! encoded can be written to it without another copy.

use axum::{
    body::Body,
    extract::FromRequestParts,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header, request::Parts,
    },
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use muster_api::runs::RunFault;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

use crate::fault::Fault;
use crate::{
    connection::{ClientStream, Wire},
    limits::{SOCKET_FRAME_BYTES_MAX, SOCKET_READ_BYTES},
};

/// The supported protocol version.
const VERSION: &str = "13";

/// A WebSocket over one of our connections.
pub(super) type Socket = WebSocketStream<Wire>;

/// A valid request for a WebSocket.
pub(in crate::runs) struct Upgrade {
    connection: OnUpgrade,
    accept: HeaderValue,
}

impl<S: Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        let plain = || {
            let detail = "this address is a WebSocket: request an upgrade";
            RunFault::bad_value("upgrade", detail)
        };
        let headers = &parts.headers;
        let asks = parts.method == Method::GET
            && lists(headers, header::CONNECTION, "upgrade")
            && lists(headers, header::UPGRADE, "websocket")
            && lists(headers, header::SEC_WEBSOCKET_VERSION, VERSION);
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| asks).ok_or_else(plain)?;
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes()));
        let accept = accept.map_err(|_| plain())?;
        let connection = parts.extensions.remove::<OnUpgrade>().ok_or_else(plain)?;
        Ok(Self { connection, accept })
    }
}

/// Whether a header contains this value, alone or in a list.
fn lists(headers: &HeaderMap, name: HeaderName, value: &str) -> bool {
    let texts = headers.get_all(name).into_iter().filter_map(|text| text.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|text| text.trim().eq_ignore_ascii_case(value))
}

impl Upgrade {
    /// Responds to the request, and continues with the connection once the response is sent.
    pub(super) fn accept<F>(self, talk: impl FnOnce(Socket) -> F + Send + 'static) -> Response<Body>
    where
        F: Future<Output = ()> + Send,
    {
        tokio::spawn(async move {
            match self.connection.await {
                Ok(upgraded) => match open(upgraded).await {
                    Some(socket) => talk(socket).await,
                    None => tracing::error!("cannot upgrade: the connection is not ours"),
                },
                Err(error) => tracing::debug!(%error, "a connection ended before its upgrade"),
            }
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        response
    }
}

async fn open(upgraded: Upgraded) -> Option<Socket> {
    let parts = upgraded.downcast::<TokioIo<ClientStream>>().ok()?;
    // The buffer is cleared at every check for incoming messages, so its size
    // is a cost of every batch; readers send little. It is larger than the largest accepted
    // message, so that a reader is sent an error before the connection closes.
    let config = WebSocketConfig::default()
        .read_buffer_size(SOCKET_READ_BYTES)
        .max_message_size(Some(16 * SOCKET_FRAME_BYTES_MAX));
    let stream = parts.io.into_inner().into_inner();
    let begun = parts.read_buf.into();
    Some(WebSocketStream::from_partially_read(stream, begun, Role::Server, Some(config)).await)
}
