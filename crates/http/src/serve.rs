//! Accepts connections, and limits their number and duration.

use crate::deadline::DeadlineStream;
use crate::routes::with_whole_id;
use crate::slots::{Slots, TokenShown};
use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::Service;

/// A connection without a valid token is closed after this time.
const STRANGER_WITHIN: Duration = Duration::from_secs(5);
/// The time for all headers of a request, which includes the idle time before it.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
const HEADERS_MOST: usize = 64;
const HEADER_BYTES_MOST: usize = 32 << 10;
const LAST_ANSWERS: Duration = Duration::from_secs(1);

const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
connection: close\r\nretry-after: 10\r\n\r\n\
{\"error\":{\"code\":\"CONFLICT\",\"message\":\"too many connections; close some\"}}";

pub async fn serve(listener: TcpListener, router: Router, mut closed: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut slots = Slots::default();
    let theirs = closed.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _))
                    if slots.make_room(connections.len())
                        && !ostler_os::is_kept_from_callers(&stream) =>
                {
                    let proven = TokenShown::default();
                    let theirs = theirs.clone();
                    let conversation = converse(stream, router.clone(), theirs, proven.clone());
                    slots.add(proven, connections.spawn(conversation));
                }
                Ok((stream, _)) => {
                    let _ = stream.try_write(TOO_MANY);
                }
                // No descriptor is free; wait until a connection closes.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            _ = closed.wait_for(|closed| *closed) => break,
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
}

async fn converse(
    stream: TcpStream,
    router: Router,
    mut closed: watch::Receiver<bool>,
    proven: TokenShown,
) {
    let _ = stream.set_nodelay(true);
    let shown = proven.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(shown.clone());
        router.call(with_whole_id(request))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_headers(HEADERS_MOST)
        .max_buf_size(HEADER_BYTES_MOST)
        .serve_connection(TokioIo::new(DeadlineStream::new(stream)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stays_stranger(&proven) => return,
        _ = closed.wait_for(|closed| *closed) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Returns when a connection without a valid token has reached its time limit.
async fn stays_stranger(proven: &TokenShown) {
    tokio::time::sleep(STRANGER_WITHIN).await;
    if proven.is() {
        std::future::pending::<()>().await;
    }
}
