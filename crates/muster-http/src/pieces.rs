//! A streamed response body; the next chunk is read when this one was sent.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use hyper::body::Frame;
use tokio::sync::mpsc;

/// A chunk, or why there are no more.
pub(crate) type FilePiece = Result<Bytes, io::Error>;

/// A body, and the sender of its chunks.
pub(crate) fn channel() -> (mpsc::Sender<FilePiece>, Body) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, Body::new(Pieces(receiver)))
}

struct Pieces(mpsc::Receiver<FilePiece>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
