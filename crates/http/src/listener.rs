//! Opening and closing it. While it is closed there is no thread, no socket and no memory of it.

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
    #[error("the thread for HTTP cannot be started")]
    Thread(#[source] io::Error),
}

/// It is open, or about to be: an address that is taken is tried again and again.
pub struct Http {
    settings: HttpSettings,
    closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// So many may follow events at once; each keeps a connection for as long as it likes.
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
                    let face = Arc::new(RequestContext {
                        gateway,
                        tokens: Tokens::of(&home),
                        names: Names::new(address, asked.hosts),
                        followers: Arc::new(Semaphore::new(FOLLOWERS_MOST)),
                        open: open_paths(),
                        closed: closed.clone(),
                    });
                    serve(listener, router(face), closed).await;
                });
                report_closed(&home);
            })
            .map_err(HttpError::Thread)?;
        Ok(Self { settings, closing, thread: Some(thread) })
    }

    /// What it was opened with.
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// Lets the last answers go out, for a second at most.
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
