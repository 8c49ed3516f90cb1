//! An app that greets now and then.

use ostler_client::app::{App, Configuration, Context, Failure, Next, Stop, run};
use std::process::ExitCode;
use std::time::Duration;

struct Greeter {
    every: Duration,
    greeting: String,
    greeted: u64,
}

impl Greeter {
    fn configure(&mut self, context: &Context) {
        let config = context.config();
        self.greeting = config["greeting"].as_str().unwrap_or("hello").to_owned();
    }
}

impl App for Greeter {
    // The app counts as ready when this is done. What it returns with `?` ends it with exit code 1.
    fn setup(&mut self, context: &Context) -> Result<(), Failure> {
        if let Ok(seconds) = std::env::var("EVERY") {
            self.every = Duration::try_from_secs_f64(seconds.parse()?)?;
        }
        self.configure(context);
        Ok(())
    }

    // This is the app's own loop. It waits for the end instead of sleeping, so it ends at once.
    fn work(&mut self, context: &Context) -> Result<(), Failure> {
        loop {
            println!("{}", self.greeting);
            self.greeted += 1;
            match context.wait(self.every) {
                Next::Stop => return Ok(()),
                Next::Config(new) => self.on_config(context, &new)?,
                Next::TimeUp => {}
            }
        }
    }

    fn on_config(&mut self, context: &Context, new: &Configuration) -> Result<(), Failure> {
        self.configure(context);
        println!("the configuration is now version {}", new.version);
        Ok(())
    }

    // The process exits when this is done.
    fn teardown(&mut self, stop: &Stop) -> Result<(), Failure> {
        println!("greeted {} times; it ends because: {}", self.greeted, stop.reason());
        Ok(())
    }
}

fn main() -> ExitCode {
    run(Greeter { every: Duration::from_secs(10), greeting: String::new(), greeted: 0 })
}
