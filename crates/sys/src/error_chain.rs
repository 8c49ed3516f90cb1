use std::error::Error;

/// An error and its causes in one line. A cause that repeats what the line already says is left out.
pub fn error_chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) && !line.split(": ").any(|part| text.contains(part)) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;

    #[derive(Debug)]
    struct Failed(&'static str, Option<Box<Failed>>);

    impl fmt::Display for Failed {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as &dyn Error)
        }
    }

    #[test]
    fn each_cause_is_named_once() {
        let disk = Failed("disk full", None);
        let write = Failed("cannot write: disk full", Some(Box::new(disk)));
        let save = Failed("cannot save", Some(Box::new(write)));
        assert_eq!(error_chain(&save), "cannot save: cannot write: disk full");
    }
}
