//! `rust_app`: an app on the Rust SDK that is controlled by its test over a socket in its folder. An order is a word and
//! at most one argument; `config = { mode = "…" }` of its unit makes it fail at that step.

use ostler_client::app::{App, Configuration, Context, Failure, Next, Status, Stop, run};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

fn main() -> ExitCode {
    let (orders, description) = channel();
    run(Obedient { orders, for_main: description, changes: Arc::default() })
}

/// The main thread is blocked until the other end is dropped.
type Block = Receiver<()>;

struct Obedient {
    orders: Sender<Block>,
    for_main: Receiver<Block>,
    /// The configurations that `on_config` received.
    changes: Arc<Mutex<Vec<Value>>>,
}

impl App for Obedient {
    fn setup(&mut self, context: &Context) -> Result<(), Failure> {
        if context.config()["mode"] == "bad_setup" {
            return Err("no database".into());
        }
        let strings = UnixStream::connect("strings")?;
        let reader = OrderReader {
            context: context.clone(),
            for_main: self.orders.clone(),
            changes: Arc::clone(&self.changes),
            block: None,
        };
        std::thread::spawn(move || reader.obey(strings));
        Ok(())
    }

    fn work(&mut self, context: &Context) -> Result<(), Failure> {
        loop {
            match context.wait(Duration::from_millis(10)) {
                Next::Stop => return Ok(()),
                Next::Config(configuration) => self.on_config(context, &configuration)?,
                Next::TimeUp => {}
            }
            if let Ok(block) = self.for_main.try_recv() {
                let _ = block.recv();
            }
            if context.config()["mode"] == "bad_work" {
                return Err("out of ideas".into());
            }
        }
    }

    fn on_config(&mut self, context: &Context, new: &Configuration) -> Result<(), Failure> {
        assert_eq!(context.config(), new.config);
        let description = json!({ "config": new.config, "version": new.version });
        self.changes.lock().expect("no panic").push(description);
        Ok(())
    }

    fn teardown(&mut self, stop: &Stop) -> Result<(), Failure> {
        println!("teardown: {}, {} ms", stop.reason(), stop.timeout().as_millis());
        while std::path::Path::new("hang").exists() {
            std::thread::park();
        }
        let file = OpenOptions::new().create(true).append(true).open("teardown");
        file?.write_all(b"down\n")?;
        Ok(())
    }
}

/// Carries out the test's orders on a thread of its own, so that it works while the main thread is blocked.
struct OrderReader {
    context: Context,
    for_main: Sender<Block>,
    changes: Arc<Mutex<Vec<Value>>>,
    block: Option<Sender<()>>,
}

impl OrderReader {
    fn obey(mut self, strings: UnixStream) {
        let mut writing = strings.try_clone().expect("a clone");
        for line in BufReader::new(strings).lines().map_while(Result::ok) {
            let order: Value = serde_json::from_str(&line).expect("JSON");
            let words = order["run"].as_str().or_else(|| order["eval"].as_str()).expect("words");
            let answer = match self.do_it(words) {
                Ok(value) => json!({ "is": value }),
                Err(error) => json!({ "failed": error.to_string() }),
            };
            let _ = writing.write_all(format!("{answer}\n").as_bytes());
        }
    }

    fn do_it(&mut self, words: &str) -> Result<Value, Failure> {
        let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
        let seconds = || rest.parse().map(Duration::from_secs);
        match word {
            "app.config" => return Ok(self.context.config()),
            "app.told" => return Ok(self.changes.lock().expect("no panic").clone().into()),
            "request" => return Ok(self.context.request(rest, json!({}))?),
            "refused" => {
                let error =
                    self.context.request(rest, json!({})).err().ok_or("the request succeeded")?;
                return Ok(error.code().into());
            }
            "exit" => std::process::exit(1),
            "stop" => self.context.stop(rest),
            "degraded" => self.context.status(Status::Degraded, json!({ "queue": 3 }))?,
            "busy_for" => self.context.busy_for(seconds()?)?,
            "busy_until" => self.context.busy_until(SystemTime::now() + seconds()?)?,
            "block" => {
                let (block, blocked) = channel();
                self.for_main.send(blocked).map_err(|_| "the main thread has ended")?;
                self.block = Some(block);
            }
            "unblock" => self.block = None,
            other => return Err(format!("unknown order {other}").into()),
        }
        Ok(Value::Null)
    }
}
