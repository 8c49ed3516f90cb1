//! `serve PORT`: answers HTTP as the files in its folder say: it waits for `go` before it listens if
//! `late` exists; with `hang` it does not answer, with `sick` it answers with status 500.
//! `serve say TEXT`: sends TEXT to $NOTIFY_SOCKET once the file `go` exists, and stays.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [say, text] if say == "say" => notify(&text.replace("\\n", "\n")),
        [port] => listen(port.parse().expect("a port")),
        _ => panic!("serve PORT | serve say TEXT"),
    }
}

fn until_there(name: &str) {
    while !Path::new(name).exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn notify(text: &str) {
    until_there("go");
    let place = std::env::var_os("NOTIFY_SOCKET").expect("NOTIFY_SOCKET");
    let socket = UnixDatagram::unbound().expect("a socket");
    socket.send_to(text.as_bytes(), place).expect("another process listens");
    std::fs::write("said", "").expect("written");
    loop {
        std::thread::park();
    }
}

fn listen(port: u16) {
    if Path::new("late").exists() {
        until_there("go");
    }
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    println!("up");
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || answer(stream));
    }
}

fn answer(mut stream: TcpStream) {
    let mut request = [0; 4096];
    let _ = stream.read(&mut request);
    if Path::new("hang").exists() {
        loop {
            std::thread::park();
        }
    }
    let status = if Path::new("sick").exists() { "500 Sick" } else { "200 OK" };
    let body = "{\"status\":\"healthy\"}";
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}
