//! The syntax of an op as data: parser and printer both use this one description, so that texts round-trip by
//! construction. Source: the assembly formats of StableHLO and Shardy, and what JAX prints.

use super::parser::{Parse, ParsedOp, Parser};
use super::printer::Printer;
use crate::ir::OpRef;

/// The syntax of an op.
#[derive(Clone, Copy)]
pub enum Syntax {
    /// `"name"(operands) <{properties}> ({regions}) {attributes} : (types) -> types`
    Generic,
    /// `name %a, %b, key = value, … {attributes} : types`: each key with the piece of its value.
    Keys(&'static [(&'static str, Piece)], TypeForm),
    /// The name, then these pieces in order.
    Pieces(&'static [Piece]),
    /// Code for the few ops whose syntax isn't a list of pieces.
    Custom(&'static CustomSyntax),
}

/// A parsing and a printing function, which must agree.
pub struct CustomSyntax {
    /// Parses everything after the op's name.
    pub parse: fn(&mut Parser<'_>, &mut ParsedOp) -> Parse<()>,
    /// Prints everything after the op's name; returns `false` if this instance needs the generic form.
    pub print: fn(&mut Printer<'_>, OpRef<'_>) -> bool,
}

/// One piece of an op's text.
#[derive(Clone, Copy)]
pub enum Piece {
    /// All operands: `%a, %b`.
    Operands,
    /// A token: a word or punctuation, e.g. `","`, `"dims"`, `"="`.
    Token(&'static str),
    /// Attribute as integer without type: `dim = 0` is `Token("dim"), Token("="), Int("dimension")`. An `i64`.
    Int(&'static str),
    /// Attribute as `[0, 1]`, kept as `array<i64: 0, 1>`.
    Ints(&'static str),
    /// Enum attribute as bare word: attribute name, enum kind.
    Enum(&'static str, &'static str),
    /// Array of enum attributes, `[DEFAULT, HIGHEST]`: attribute name, enum kind.
    Enums(&'static str, &'static str),
    /// Any attribute in full form.
    Attr(&'static str),
    /// Pieces that are printed only if the named attribute is present; the parser recognizes them by their tokens
    /// before the first attribute.
    Optional(&'static str, &'static [Piece]),
    /// `{name = value, …}` with the attributes that no other piece prints.
    AttrDict,
    /// ` : types` in one of the forms.
    Types(TypeForm),
}

/// The syntax of the types of operands and results, after a colon.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TypeForm {
    /// `: T` if all operands and results have one type, otherwise `: (A, B) -> C`.
    SameOrFunctional,
    /// `: (A, B) -> C`
    Functional,
    /// `: A, B -> C`, several results in parentheses.
    Arrow,
    /// `: T`, the type of the only result; there are no operands.
    Result,
    /// `: P, T` of select: the predicate's type, then the type of the others and the result.
    Select,
    /// `: T` of complex: the result's type; operands have the type of its parts.
    Complex,
    /// `: T1, T2`: operand `i` and result `i` have type `Ti`.
    Pairwise,
    /// `: T1, T2`: the operands' types; no results (returns). Without operands nothing is printed.
    OperandsOnly,
}
