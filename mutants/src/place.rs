//! Finds the expression that each mutant changes.

use crate::list::{Genre, Mutant, Point};
use proc_macro2::{LineColumn, Span};
use std::collections::HashMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A place in the source and the mutants there.
#[derive(Debug)]
pub struct Site {
    pub range: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    /// The begin of a function's body: return the replacement.
    Body { values: Vec<(u32, String)> },
    /// `left op right`, with other operators.
    Binary {
        left: Range<usize>,
        op: String,
        right: Range<usize>,
        others: Vec<(u32, String)>,
        is_statement: bool,
    },
    /// `!operand` or `-operand`, without the operator.
    Unary { operand: Range<usize>, number: u32 },
    /// A match guard that is always true, or never.
    Guard { values: Vec<(u32, String)> },
    /// An arm that is never taken: a condition behind its pattern, and in front of its guard if it has one.
    Arm { number: u32, has_guard: bool },
    /// A struct expression without one of its fields, which then comes from `..base`.
    Fields { fields: Vec<(u32, Range<usize>)> },
}

pub struct Placed {
    pub sites: Vec<Site>,
    /// Mutants whose place was not found.
    pub lost: Vec<u32>,
}

pub fn place(source: &str, mutants: Vec<Mutant>) -> syn::Result<Placed> {
    let file = syn::parse_file(source)?;
    let lines = Lines::of(source);
    let mut wanted: HashMap<usize, Vec<Mutant>> = HashMap::new();
    let mut sites = Vec::new();
    let mut bodies: HashMap<usize, Vec<(u32, String)>> = HashMap::new();
    for mutant in mutants {
        let at = lines.offset(mutant.start);
        match mutant.genre {
            Genre::FnValue => {
                bodies.entry(at).or_default().push((mutant.number, mutant.replacement))
            }
            _ => wanted.entry(at).or_default().push(mutant),
        }
    }
    for (at, values) in bodies {
        sites.push(Site { range: at..at, kind: Kind::Body { values } });
    }
    let mut finder = Finder { lines, source, wanted, sites };
    finder.visit_file(&file);
    let lost = finder.wanted.values().flatten().map(|mutant| mutant.number).collect();
    Ok(Placed { sites: finder.sites, lost })
}

struct Finder<'a> {
    lines: Lines,
    source: &'a str,
    wanted: HashMap<usize, Vec<Mutant>>,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn range(&self, span: Span) -> Range<usize> {
        self.lines.at(span.start())..self.lines.at(span.end())
    }

    /// The mutants of this kind that begin here.
    fn take(&mut self, at: usize, genre: Genre) -> Vec<(u32, String)> {
        let Some(here) = self.wanted.remove(&at) else { return Vec::new() };
        let (found, others): (Vec<_>, Vec<_>) =
            here.into_iter().partition(|mutant| mutant.genre == genre);
        if !others.is_empty() {
            self.wanted.insert(at, others);
        }
        found.into_iter().map(|mutant| (mutant.number, mutant.replacement)).collect()
    }

    fn binary(&mut self, expression: &syn::ExprBinary, is_statement: bool) {
        let op = self.range(expression.op.span());
        let others = self.take(op.start, Genre::BinaryOperator);
        if !others.is_empty() {
            let kind = Kind::Binary {
                left: self.range(expression.left.span()),
                right: self.range(expression.right.span()),
                op: self.source[op].to_owned(),
                others,
                is_statement,
            };
            self.sites.push(Site { range: self.range(expression.span()), kind });
        }
        visit::visit_expr_binary(self, expression);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        match statement {
            syn::Stmt::Expr(syn::Expr::Binary(expression), Some(_)) => {
                self.binary(expression, true)
            }
            _ => visit::visit_stmt(self, statement),
        }
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        self.binary(expression, false);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let at = self.range(expression.op.span()).start;
        if let Some((number, _)) = self.take(at, Genre::UnaryOperator).pop() {
            let kind = Kind::Unary { operand: self.range(expression.expr.span()), number };
            self.sites.push(Site { range: self.range(expression.span()), kind });
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            let range = self.range(guard.span());
            let values = self.take(range.start, Genre::MatchArmGuard);
            if !values.is_empty() {
                self.sites.push(Site { range, kind: Kind::Guard { values } });
            }
        }
        let at = self.range(arm.span()).start;
        if let Some((number, _)) = self.take(at, Genre::MatchArm).pop() {
            let end = match &arm.guard {
                Some((_, guard)) => self.range(guard.span()).start,
                None => self.range(arm.pat.span()).end,
            };
            let kind = Kind::Arm { number, has_guard: arm.guard.is_some() };
            self.sites.push(Site { range: end..end, kind });
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        let mut fields = Vec::new();
        for pair in expression.fields.pairs() {
            let range = self.range(pair.value().span());
            for (number, _) in self.take(range.start, Genre::StructField) {
                let end = pair.punct().map_or(range.end, |comma| self.range(comma.span()).end);
                fields.push((number, range.start..end));
            }
        }
        if !fields.is_empty() {
            let range = self.range(expression.span());
            self.sites.push(Site { range, kind: Kind::Fields { fields } });
        }
        visit::visit_expr_struct(self, expression);
    }
}

/// Byte offsets of lines.
struct Lines {
    starts: Vec<usize>,
    text: String,
}

impl Lines {
    fn of(source: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(source.match_indices('\n').map(|(at, _)| at + 1));
        Self { starts, text: source.to_owned() }
    }

    fn offset(&self, point: Point) -> usize {
        self.at(LineColumn { line: point.line, column: point.column - 1 })
    }

    /// Columns count characters, offsets bytes.
    fn at(&self, place: LineColumn) -> usize {
        let start = self.starts[place.line - 1];
        let characters = self.text[start..].char_indices();
        characters.map(|(at, _)| start + at).nth(place.column).unwrap_or(self.text.len())
    }
}
