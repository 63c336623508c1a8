//! Text: lexer, parser, printer, and the description of each op's syntax, which parser and printer share.

mod attribute;
mod count;
mod dense;
mod edges;
mod lexer;
mod location;
mod mpmd;
mod number;
mod parser;
mod printer;
mod raw_bytes;
mod resource;
mod rule;
mod sharding;
mod sparse;
mod syntax;
pub(crate) mod words;

pub use lexer::{Tok, Token};
pub(crate) use number::float_text;
pub use parser::{
    Argument, Failed, MAX_NESTING, Parse, ParsedOp, Parser, attribute_of_text, nearest, parse, parse_with,
};
pub use printer::{CAUSE, PrintOptions, Printer, print, print_with};
pub use raw_bytes::escape_raw_bytes;
pub use syntax::{CustomSyntax, Piece, Syntax, TypeForm};
