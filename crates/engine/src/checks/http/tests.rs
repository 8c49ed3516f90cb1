use super::*;
use std::time::Duration;
use tokio::net::TcpListener;

/// The check's result for a server that sends these pieces and then closes the connection, or keeps it open.
fn asked(pieces: Vec<Vec<u8>>, stays: bool, at: &str) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("one");
    runtime.block_on(async {
        let listener = TcpListener::bind(at).await.expect("a port");
        let url = format!("http://{}/health", listener.local_addr().expect("bound"));
        let serve = async {
            let (mut stream, _) = listener.accept().await.expect("a client connects");
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            for piece in pieces {
                if stream.write_all(&piece).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
            if stays {
                std::future::pending::<()>().await;
            }
        };
        let check = async {
            let limit = Duration::from_millis(300);
            tokio::time::timeout(limit, get_healthy(&url))
                .await
                .unwrap_or_else(|_| Err("no answer in time".to_owned()))
        };
        tokio::select! {
            biased;
            outcome = check => outcome,
            () = async { serve.await; std::future::pending().await } => Err("never".to_owned()),
        }
    })
}

fn whole(answer: &str) -> Result<(), String> {
    asked(vec![answer.as_bytes().to_vec()], false, "127.0.0.1:0")
}

const BODY: &str = r#"{"status":"healthy"}"#;

#[track_caller]
fn fails(outcome: Result<(), String>, why: &str) {
    let description = outcome.expect_err(why);
    assert!(description.contains(why), "{description:?} does not contain {why:?}");
}

#[test]
fn healthy_is_status_200_with_the_expected_text() {
    for body in [BODY, r#" { "uptime": [1,{"a":2}], "status" : "healthy" } "#] {
        let length = body.len();
        whole(&format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")).expect("well");
        whole(&format!("HTTP/1.0 200 OK\r\n\r\n{body}")).expect("until it closes");
        let between = format!(
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nconTENT-length: {length}\r\n\r\n{body}"
        );
        whole(&between).expect("an interim response");
    }
    let stays = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{BODY}", BODY.len());
    asked(vec![stays.into_bytes()], true, "127.0.0.1:0").expect("it need not close");
}

#[test]
fn health_checks_work_over_ipv6() {
    let answer = format!("HTTP/1.1 200 OK\r\n\r\n{BODY}");
    asked(vec![answer.into_bytes()], false, "[::1]:0").expect("well");
}

#[test]
fn chunks_of_any_size_byte_by_byte() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=y\r\n{\"sta\r\nf\r\ntus\":\"healthy\"}\r\n0\r\n\r\n";
    whole(answer).expect("well");
    asked(answer.bytes().map(|byte| vec![byte]).collect(), false, "127.0.0.1:0").expect("well");
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for bad in ["zz\r\n", "5\r\n{\"staxx", "ffffffffffffffffffff\r\n", "14\r\n"] {
        assert!(whole(&format!("{head}{bad}")).is_err(), "{bad}");
    }
    fails(whole(&format!("{head}ffffff\r\n")), "longer than 64 KiB");
    fails(whole(&format!("{head}5;{}", "x".repeat(5_000))), "invalid chunked body");
}

#[test]
fn any_other_status_is_a_failure() {
    for status in
        ["500 Sick", "503 X", "301 Moved\r\nLocation: /well", "204 No Content", "201 Made"]
    {
        let code = &status[..3];
        let length = BODY.len();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{BODY}");
        fails(whole(&answer), &format!("status {code}"));
    }
}

#[test]
fn a_wrong_body_is_a_failure() {
    for body in [
        "",
        "healthy",
        "\"healthy\"",
        "[]",
        "{}",
        "{\"status\":true}",
        "{\"Status\":\"healthy\"}",
        "{\"status\":\"healthy\"",
        "\u{feff}{\"status\":\"healthy\"}",
    ] {
        let length = body.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
        fails(whole(&answer), "not a JSON object");
    }
    fails(whole("HTTP/1.1 200 OK\r\n\r\n{\"status\":\"degraded\"}"), "\"degraded\"");
    let deep = format!("HTTP/1.1 200 OK\r\n\r\n{{\"a\":{}", "[".repeat(60_000));
    fails(whole(&deep), "not a JSON object");
}

#[test]
fn a_length_that_lies_is_a_failure() {
    fails(whole(&format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{BODY}")), "not a JSON");
    fails(whole(&format!("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{BODY}")), "complete");
    for length in ["-1", "x", "20, 20", "99999999999999999999999"] {
        assert!(
            whole(&format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{BODY}")).is_err()
        );
    }
    let two = format!("HTTP/1.1 200 OK\r\nContent-Length: 20\r\nContent-Length: 5\r\n\r\n{BODY}");
    fails(whole(&two), "more than one");
    let huge = "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n";
    fails(whole(huge), "longer than 64 KiB");
}

#[test]
fn a_check_without_an_end_is_given_up() {
    let flood = |head: &str, piece: &str| {
        let mut pieces = vec![head.as_bytes().to_vec()];
        pieces.extend(std::iter::repeat_n(piece.repeat(1_000).into_bytes(), 1_000));
        asked(pieces, true, "127.0.0.1:0")
    };
    fails(flood("HTTP/1.1 200 OK\r\n\r\n", " "), "longer than 64 KiB");
    fails(flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"), "longer");
    fails(flood("HTTP/1.1 200 OK\r\nX: ", "x"), "does not end");
    fails(flood("HTTP/1.1 200 OK\r\n", "X: y\r\n"), "too many headers");
    fails(flood("HTTP/1.1 100 Go on\r\n\r\n", "HTTP/1.1 100 Go on\r\n\r\n"), "does not end");
}

#[test]
fn silence_and_garbage_are_failures() {
    fails(asked(vec![], true, "127.0.0.1:0"), "no answer in time");
    fails(asked(vec![b"HTTP/1.1 200 OK\r\n".to_vec()], true, "127.0.0.1:0"), "no answer in time");
    fails(whole(""), "closed");
    for garbage in
        ["SSH-2.0-OpenSSH_9.2\r\n", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "<html>no</html>\r\n\r\n"]
    {
        fails(whole(garbage), "not an HTTP response");
    }
}
