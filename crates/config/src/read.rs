//! Reads a file of limited size.

use std::io::ErrorKind;
use std::path::Path;

/// Reads a file of at most `most` bytes. A pipe, a device or a folder is refused without opening it: opening a pipe
/// waits for its writer, and some devices have no end.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let description = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::NotADirectory => "a part of its path is not a folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    let too_long = || match most >> 20 {
        0 => format!("it is larger than {} KiB", most >> 10),
        size => format!("it is larger than {size} MiB"),
    };
    let about = std::fs::metadata(path).map_err(description)?;
    if about.is_dir() {
        return Err("it is a folder, not a file".to_owned());
    }
    if !about.is_file() {
        return Err("it is a pipe, a socket or a device, not a file".to_owned());
    }
    // It may become another file meanwhile, and some files of /proc block their reader.
    let bytes = ostler_sys::read_regular(path, most).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => too_long(),
        ErrorKind::WouldBlock => "it is a file of the kernel's that has no end".to_owned(),
        _ => description(error),
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_an_error_at_once() {
        for (path, why) in [
            ("/dev/zero", "a device"),
            ("/dev/null", "a device"),
            ("/", "a folder"),
            ("/nonexistent/x", "no such file"),
            ("/etc/passwd/x", "not a folder"),
        ] {
            let description = read_file(Path::new(path), 10).expect_err("refused");
            assert!(description.contains(why), "{path}: {description}");
        }
    }
}
