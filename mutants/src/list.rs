//! The list of mutants that `cargo mutants --list --json` prints.

use serde::Deserialize;

/// One mutant, with its number: its place in the list, counted from 1.
#[derive(Debug)]
pub struct Mutant {
    pub number: u32,
    pub file: String,
    pub genre: Genre,
    pub replacement: String,
    pub start: Point,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

/// Line and column, both counted from 1.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub struct Point {
    pub line: usize,
    pub column: usize,
}

#[derive(Deserialize)]
struct Listed {
    file: String,
    genre: Genre,
    replacement: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Point,
}

pub fn read(json: &str) -> Vec<Mutant> {
    let listed: Vec<Listed> = match serde_json::from_str(json) {
        Ok(listed) => listed,
        Err(error) => {
            eprintln!("ostler-mutants: the list of cargo-mutants has another form: {error}");
            std::process::exit(1);
        }
    };
    let mutants = listed.into_iter().zip(1..).map(|(listed, number)| Mutant {
        number,
        file: listed.file,
        genre: listed.genre,
        replacement: listed.replacement,
        start: listed.span.start,
    });
    mutants.collect()
}
