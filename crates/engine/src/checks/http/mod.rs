//! An HTTP/1.1 check. It evaluates the status alone, or also a body with the status `healthy`. It never keeps more than
//! a fixed part of the response.

use serde::Deserialize;
use std::borrow::Cow;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD_MOST: usize = 16 << 10;
const HEADERS_MOST: usize = 64;
const BODY_MOST: usize = 64 << 10;
/// The line with the size of a chunk, including extensions.
const CHUNK_LINE_MOST: usize = 1 << 10;
const READ_AT_ONCE: usize = 2 << 10;

/// A status of 200 to 299 passes; redirects are not followed.
pub(crate) async fn get(url: &str) -> Result<(), String> {
    description(url, ask("GET", url, None).await)
}

pub(crate) async fn post(url: &str, body: &str) -> Result<(), String> {
    description(url, ask("POST", url, Some(body)).await)
}

/// Passes on status 200 and a JSON object whose `status` is `"healthy"`.
pub(crate) async fn get_healthy(url: &str) -> Result<(), String> {
    description(url, ask_healthy(url).await)
}

fn description(url: &str, outcome: Result<(), Wrong>) -> Result<(), String> {
    outcome.map_err(|wrong| match wrong {
        Wrong::Io(error) => format!("{url}: {error}"),
        Wrong::Answer(description) => format!("{url}: {description}"),
    })
}

enum Wrong {
    Io(io::Error),
    Answer(Cow<'static, str>),
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        Wrong::Io(error)
    }
}

fn wrong<T>(description: impl Into<Cow<'static, str>>) -> Result<T, Wrong> {
    Err(Wrong::Answer(description.into()))
}

async fn ask(method: &str, url: &str, body: Option<&str>) -> Result<(), Wrong> {
    let mut answer = Answer::to(method, url, body).await?;
    match answer.status().await? {
        200..300 => Ok(()),
        code => wrong(format!("status {code}")),
    }
}

#[derive(Deserialize)]
struct Health<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
}

async fn ask_healthy(url: &str) -> Result<(), Wrong> {
    let mut answer = Answer::to("GET", url, None).await?;
    let length = match answer.head().await? {
        Head { status: 200, length } => length,
        Head { status, .. } => return wrong(format!("status {status}")),
    };
    let body = answer.body(length).await?;
    match serde_json::from_slice::<Health<'_>>(&body) {
        Ok(Health { status }) if status == "healthy" => Ok(()),
        Ok(Health { status }) => {
            let status: String = status.chars().take(40).collect();
            wrong(format!("status is {status:?}, not \"healthy\""))
        }
        Err(_) => wrong("body is not a JSON object with a status"),
    }
}

struct Head {
    status: u16,
    length: Length,
}

/// How the body ends.
#[derive(Clone, Copy)]
enum Length {
    Bytes(usize),
    Chunks,
    UntilClosed,
}

struct Answer {
    stream: TcpStream,
    /// Received but not parsed yet.
    kept: Vec<u8>,
}

impl Answer {
    async fn to(method: &str, url: &str, body: Option<&str>) -> Result<Self, Wrong> {
        let Some(rest) = url.strip_prefix("http://") else {
            return wrong("only http:// URLs are supported");
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(split);
        let slash = if path.starts_with('/') { "" } else { "/" };
        // An IPv6 address has colons inside its brackets.
        let has_port = host.rsplit(']').next().is_some_and(|behind| behind.contains(':'));
        let address = if has_port { Cow::Borrowed(host) } else { Cow::Owned(format!("{host}:80")) };
        let mut stream = TcpStream::connect(&*address).await?;
        let content = body.map_or("\r\n".to_owned(), |body| {
            let length = body.len();
            format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        });
        let request = format!(
            "{method} {slash}{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: ostler\r\nAccept: application/json, */*\r\nConnection: close\r\n{content}"
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(Self { stream, kept: Vec::new() })
    }

    /// Reads more; false at the end of the stream.
    async fn more(&mut self) -> Result<bool, Wrong> {
        self.kept.reserve(READ_AT_ONCE);
        Ok(self.stream.read_buf(&mut self.kept).await? > 0)
    }

    /// Needs only the first bytes of the response.
    async fn status(&mut self) -> Result<u16, Wrong> {
        const LINE: usize = "HTTP/1.1 200".len();
        while self.kept.len() < LINE {
            if !self.more().await? {
                break;
            }
        }
        let line = self.kept.get(..LINE).unwrap_or_default();
        let code = line.strip_prefix(b"HTTP/").and_then(|rest| rest.get(4..));
        match code.and_then(|code| std::str::from_utf8(code).ok()?.parse().ok()) {
            Some(code) => Ok(code),
            None => wrong("not an HTTP response"),
        }
    }

    async fn head(&mut self) -> Result<Head, Wrong> {
        let mut seen = 0;
        loop {
            match read_head(&self.kept)? {
                // An interim response; the final one follows.
                Some((used, Head { status: 100..200, .. })) => {
                    self.kept.drain(..used);
                    seen += used;
                }
                Some((used, head)) => {
                    self.kept.drain(..used);
                    return Ok(head);
                }
                None if seen + self.kept.len() > HEAD_MOST => {
                    return wrong("the response head does not end");
                }
                None => {
                    if !self.more().await? {
                        return wrong("connection closed before the response was complete");
                    }
                }
            }
        }
    }

    async fn body(&mut self, length: Length) -> Result<Vec<u8>, Wrong> {
        match length {
            Length::Bytes(length) if length > BODY_MOST => too_long(),
            Length::Bytes(length) => {
                self.fill(length).await?;
                self.kept.truncate(length);
                Ok(std::mem::take(&mut self.kept))
            }
            Length::Chunks => self.chunks().await,
            Length::UntilClosed => {
                while self.more().await? {
                    if self.kept.len() > BODY_MOST {
                        return too_long();
                    }
                }
                Ok(std::mem::take(&mut self.kept))
            }
        }
    }

    async fn fill(&mut self, length: usize) -> Result<(), Wrong> {
        while self.kept.len() < length {
            if !self.more().await? {
                return wrong("connection closed before the response was complete");
            }
        }
        Ok(())
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, Wrong> {
        let mut body = Vec::new();
        loop {
            let (used, size) = match httparse::parse_chunk_size(&self.kept) {
                Ok(httparse::Status::Complete(read)) => read,
                Ok(httparse::Status::Partial) if self.kept.len() <= CHUNK_LINE_MOST => {
                    self.fill(self.kept.len() + 1).await?;
                    continue;
                }
                Ok(httparse::Status::Partial) | Err(_) => return wrong("invalid chunked body"),
            };
            if size == 0 {
                return Ok(body);
            }
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            if size > BODY_MOST - body.len() {
                return too_long();
            }
            self.fill(used + size + 2).await?;
            body.extend_from_slice(&self.kept[used..used + size]);
            if &self.kept[used + size..used + size + 2] != b"\r\n" {
                return wrong("invalid chunked body");
            }
            self.kept.drain(..used + size + 2);
        }
    }
}

fn too_long<T>() -> Result<T, Wrong> {
    wrong(format!("body is longer than {} KiB", BODY_MOST >> 10))
}

/// `None` if it is not complete yet.
fn read_head(bytes: &[u8]) -> Result<Option<(usize, Head)>, Wrong> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
    let mut response = httparse::Response::new(&mut headers);
    let used = match response.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => used,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return wrong("response has too many headers"),
        Err(_) => return wrong("not an HTTP response"),
    };
    let all = |name: &'static str| {
        let named = response.headers.iter().filter(move |one| one.name.eq_ignore_ascii_case(name));
        named.map(|one| String::from_utf8_lossy(one.value).trim().to_ascii_lowercase())
    };
    let length = match (all("transfer-encoding").next(), all("content-length").next()) {
        (Some(coding), _) if coding == "chunked" => Length::Chunks,
        (Some(coding), _) => {
            return wrong(format!("transfer coding {coding:.40} is not supported"));
        }
        (None, Some(first)) if all("content-length").all(|other| other == first) => {
            match first.parse() {
                Ok(length) => Length::Bytes(length),
                Err(_) => return wrong("invalid Content-Length"),
            }
        }
        (None, Some(_)) => return wrong("response has more than one Content-Length"),
        (None, None) => Length::UntilClosed,
    };
    Ok(Some((used, Head { status: response.code.unwrap_or_default(), length })))
}

#[cfg(test)]
mod tests;
