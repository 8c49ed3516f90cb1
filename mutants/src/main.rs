//! Puts every mutant of a crate behind a condition, so that one build tries them all.
//!
//! `cargo mutants` builds the crate once for each mutant. This program takes its list, and writes each mutant into a
//! copy of the sources as `if on(N) { changed } else { as it was }`. One build has all of them, and the variable
//! `OSTLER_MUTANT=N` turns one on.
//!
//!     ostler-mutants LIST.json TREE SKIPPED.txt
//!
//! LIST.json is what `cargo mutants --list --json` prints, TREE the copy of the workspace, SKIPPED.txt the numbers of
//! mutants that do not compile in this form. It prints the numbers that it could not place.

mod list;
mod place;
mod render;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::{env, fs};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [list, tree, skipped] = arguments.as_slice() else {
        eprintln!("usage: ostler-mutants LIST.json TREE SKIPPED.txt");
        std::process::exit(2);
    };
    let skipped: HashSet<u32> =
        read(skipped).lines().filter_map(|line| line.trim().parse().ok()).collect();
    let mut by_file: BTreeMap<String, Vec<list::Mutant>> = BTreeMap::new();
    for mutant in list::read(&read(list)) {
        by_file.entry(mutant.file.clone()).or_default().push(mutant);
    }
    for (file, mutants) in by_file {
        let path = Path::new(tree).join(&file);
        let source = fs::read_to_string(&path).unwrap_or_else(|error| fail(&file, &error));
        let wanted = mutants.into_iter().filter(|mutant| !skipped.contains(&mutant.number));
        let placed =
            place::place(&source, wanted.collect()).unwrap_or_else(|error| fail(&file, &error));
        for number in placed.lost {
            println!("{number}");
        }
        let text = render::render(&source, placed.sites);
        fs::write(&path, text).unwrap_or_else(|error| fail(&file, &error));
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| fail(path, &error))
}

fn fail<T>(what: &str, error: &dyn std::fmt::Display) -> T {
    eprintln!("ostler-mutants: {what}: {error}");
    std::process::exit(1);
}
