//! Starts and stops the HTTP server. While it is stopped, it uses no thread, socket or memory.

use crate::guard::Names;
use crate::listen::{listen, report_closed};
use crate::routes::{RequestContext, open_paths, router};
use crate::serve::serve;
use crate::settings::HttpSettings;
use crate::token::Tokens;
use ostler_api::Gateway;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use thiserror::Error;
use tokio::sync::{Semaphore, watch};

#[derive(Debug, Error)]
pub enum HttpError {
    #[error("cannot start the HTTP thread")]
    Thread(#[source] io::Error),
}

/// The server is open, or retries because its address is in use.
pub struct Http {
    settings: HttpSettings,
    closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Maximum number of event streams; each holds a connection for an unlimited time.
const FOLLOWERS_MOST: usize = 32;

impl Http {
    pub fn open(settings: HttpSettings, gateway: Gateway, home: &Path) -> Result<Self, HttpError> {
        let (closing, closed) = watch::channel(false);
        let (asked, home) = (settings.clone(), home.to_owned());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(HttpError::Thread)?;
        let thread = std::thread::Builder::new()
            .name("http".to_owned())
            .stack_size(512 << 10)
            .spawn(move || {
                // A flood of requests must not delay the start of a unit.
                ostler_os::give_way();
                runtime.block_on(async {
                    let mut ended = closed.clone();
                    let (listener, address) = tokio::select! {
                        opened = listen(asked.address, &home) => opened,
                        _ = ended.wait_for(|closed| *closed) => return,
                    };
                    let context = Arc::new(RequestContext {
                        gateway,
                        tokens: Tokens::of(&home),
                        names: Names::new(address, asked.hosts),
                        followers: Arc::new(Semaphore::new(FOLLOWERS_MOST)),
                        open: open_paths(),
                        closed: closed.clone(),
                    });
                    serve(listener, router(context), closed).await;
                });
                report_closed(&home);
            })
            .map_err(HttpError::Thread)?;
        Ok(Self { settings, closing, thread: Some(thread) })
    }

    /// The settings of this server.
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// Waits at most one second for pending answers.
    pub fn close(self) {}
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.closing.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
