//! Recognises a profile's program by its command line.

use crate::profile::ProcessTable;

/// Interpreters that run a script: the script counts as the program.
const INTERPRETERS: [&str; 9] =
    ["node", "bun", "deno", "python", "python3", "ruby", "sh", "bash", "env"];

/// A process, by its command line.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSeen<'a> {
    pub words: &'a [String],
}

impl ProcessTable {
    pub(crate) fn is(&self, seen: ProgramSeen<'_>) -> bool {
        programs(seen.words).any(|path| {
            // Some programs overwrite their command line with a name and blanks.
            let path = path.trim_end();
            let name = path.rsplit('/').next().unwrap_or(path);
            let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
            self.names.iter().any(|known| known == name || known == stem)
                || self.paths.iter().any(|known| path.contains(known.as_str()))
        })
    }
}

/// The program, and the script if the program is an interpreter.
fn programs(words: &[String]) -> impl Iterator<Item = &str> {
    let first = words.first().map(String::as_str);
    let name = first.map(|path| path.rsplit('/').next().unwrap_or(path));
    let is_interpreter = name.is_some_and(|name| INTERPRETERS.contains(&name));
    let script = words
        .iter()
        .skip(1)
        .map(String::as_str)
        .find(|word| !word.starts_with('-') && !word.contains('='))
        .filter(|_| is_interpreter);
    first.into_iter().chain(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(line: &str) -> bool {
        let table = ProcessTable {
            names: vec!["claude".to_owned()],
            paths: vec!["@anthropic-ai/claude-code".to_owned()],
        };
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        table.is(ProgramSeen { words: &words })
    }

    #[test]
    fn a_program_is_known_by_its_name_or_its_script() {
        assert!(is("claude"));
        assert!(is("/usr/bin/claude --resume x"));
        assert!(is("claude.exe"));
        let padded = ProcessTable { names: vec!["pi".to_owned()], paths: Vec::new() };
        assert!(padded.is(ProgramSeen { words: &["pi     ".to_owned(), String::new()] }));
        assert!(is("node --max-old-space-size=4096 /usr/lib/node_modules/claude"));
        assert!(is("node /x/node_modules/@anthropic-ai/claude-code/cli.js"));
        assert!(is("env TERM=xterm claude"));
        assert!(!is("node server.js claude"));
        assert!(!is("vim claude"));
        assert!(!is("claudette"));
        assert!(!is("grep claude"));
    }
}
