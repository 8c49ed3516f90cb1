//! Finds the file of a program name.

use std::ffi::CString;
use std::io;

/// The program as it was named, and the files it may be, in order.
#[derive(Debug)]
pub struct Program {
    pub name: String,
    pub(super) candidates: Vec<CString>,
}

impl Program {
    /// Searches the name as a shell does, in the run's own PATH.
    pub fn find(name: &[u8], environment: &[CString]) -> io::Result<Self> {
        let shown = String::from_utf8_lossy(name).into_owned();
        let candidates = if name.contains(&b'/') {
            vec![c_string(name)?]
        } else if name.is_empty() {
            Vec::new()
        } else {
            let path = environment
                .iter()
                .find_map(|entry| entry.to_bytes().strip_prefix(b"PATH="))
                .unwrap_or(b"/usr/local/bin:/usr/bin:/bin");
            path.split(|byte| *byte == b':')
                .map(|folder| {
                    let folder = if folder.is_empty() { &b"."[..] } else { folder };
                    c_string(&[folder, b"/", name].concat())
                })
                .collect::<io::Result<_>>()?
        };
        Ok(Self { name: shown, candidates })
    }
}

pub(super) fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{:?} contains a NUL byte", String::from_utf8_lossy(bytes)),
        )
    })
}
