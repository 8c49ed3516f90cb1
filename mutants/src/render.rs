//! Writes the source with its mutants.

use crate::place::{Kind, Site};
use std::fmt::Write;
use std::ops::Range;

/// Where a mutant is on. The function stands in the crate's root.
const ON: &str = "crate::ostler_mutant_on";

pub fn render(source: &str, mut sites: Vec<Site>) -> String {
    // The outer one first, and what is inserted at a place before what begins there.
    sites.sort_by_key(|site| {
        (site.range.start, site.range.end != site.range.start, usize::MAX - site.range.end)
    });
    let mut out = String::with_capacity(source.len() * 2);
    part(source, &sites, 0..source.len(), &mut out);
    out
}

/// Writes a part of the source. `sites` are in order, and those outside of the range are ignored.
fn part(source: &str, sites: &[Site], range: Range<usize>, out: &mut String) {
    let mut at = range.start;
    let mut rest = sites;
    while let Some((site, after)) = rest.split_first() {
        rest = after;
        let is_inside =
            site.range.start >= at && site.range.end <= range.end && site.range.start < range.end;
        if !is_inside {
            continue;
        }
        out.push_str(&source[at..site.range.start]);
        write_site(source, after, site, out);
        at = site.range.end;
    }
    out.push_str(&source[at..range.end]);
}

fn write_site(source: &str, inner: &[Site], site: &Site, out: &mut String) {
    let text = |range: &Range<usize>| {
        let mut out = String::new();
        part(source, inner, range.clone(), &mut out);
        out
    };
    match &site.kind {
        Kind::Body { values } => {
            for (number, value) in values {
                let _ = write!(out, "if {ON}({number}) {{ return {value}; }} ");
            }
        }
        Kind::Binary { left, op, right, others, is_statement } => {
            let (left, right) = (text(left), text(right));
            let mut all = String::new();
            for (number, other) in others {
                let _ = write!(all, "if {ON}({number}) {{ {left} {other} {right} }} else ");
            }
            let _ = write!(all, "{{ {left} {op} {right} }}");
            let _ = if *is_statement { write!(out, "{all}") } else { write!(out, "({all})") };
        }
        Kind::Unary { operand, number } => {
            let operator = &source[site.range.start..operand.start];
            let operand = text(operand);
            let _ =
                write!(out, "(if {ON}({number}) {{ {operand} }} else {{ {operator}{operand} }})");
        }
        Kind::Guard { values } => {
            out.push('(');
            for (number, value) in values {
                let _ = write!(out, "if {ON}({number}) {{ {value} }} else ");
            }
            let _ = write!(out, "{{ {} }})", text(&site.range));
        }
        Kind::Arm { number, has_guard: false } => {
            let _ = write!(out, " if !{ON}({number})");
        }
        Kind::Arm { number, has_guard: true } => {
            let _ = write!(out, "!{ON}({number}) && ");
        }
        Kind::Fields { fields } => {
            out.push('(');
            for (number, field) in fields {
                let (before, behind) =
                    (text(&(site.range.start..field.start)), text(&(field.end..site.range.end)));
                let _ = write!(out, "if {ON}({number}) {{ {before}{behind} }} else ");
            }
            let _ = write!(out, "{{ {} }})", text(&site.range));
        }
    }
}
