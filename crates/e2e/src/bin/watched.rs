//! `watched [ADDRESS]`: serves /health on $PORT as the file `mode` in its folder says, and appends to
//! `asked` how many milliseconds after its start each request came.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const WELL: &str = "{\"status\":\"healthy\"}";

fn main() {
    let began = Instant::now();
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1".to_owned());
    let port: u16 = std::env::var("PORT").expect("PORT").parse().expect("a port");
    let listener = TcpListener::bind((address.as_str(), port)).expect("the port is free");
    println!("up {port}");
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || answer(stream, began));
    }
}

fn answer(mut stream: TcpStream, began: Instant) {
    let mut request = [0; 4096];
    let length = stream.read(&mut request).unwrap_or(0);
    let line = format!("{}\n", began.elapsed().as_millis());
    let asked = std::fs::OpenOptions::new().append(true).create(true).open("asked");
    asked.and_then(|mut file| file.write_all(line.as_bytes())).expect("written");
    let mode = std::fs::read_to_string("mode").unwrap_or_default();
    let is_right = request[..length].starts_with(b"GET /health HTTP/1.1\r\n");
    let _ = speak(&mut stream, if is_right { mode.trim() } else { "sick" });
}

fn speak(stream: &mut TcpStream, mode: &str) -> std::io::Result<()> {
    let length = WELL.len();
    match mode {
        "" => write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{WELL}"),
        "chunked" => write!(
            stream,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{WELL}\r\n0\r\n\r\n"
        ),
        "sick" => write!(stream, "HTTP/1.1 500 Sick\r\n\r\n{WELL}"),
        "wrong" => write!(stream, "HTTP/1.1 200 OK\r\n\r\n{{\"status\":\"degraded\"}}"),
        "redirect" => write!(stream, "HTTP/1.1 302 Elsewhere\r\nLocation: /health\r\n\r\n{WELL}"),
        "garbage" => stream.write_all(&[0xfe; 5_000]),
        "short" => write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{WELL}"),
        "long" => write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{WELL}"),
        "endless" => {
            write!(stream, "HTTP/1.1 200 OK\r\n\r\n")?;
            loop {
                stream.write_all(&[b' '; 64 << 10])?;
            }
        }
        "slow" => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")?;
            for byte in WELL.bytes() {
                stream.write_all(&[byte])?;
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        }
        "silent" => loop {
            std::thread::park();
        },
        other => panic!("no such mode: {other}"),
    }
}
