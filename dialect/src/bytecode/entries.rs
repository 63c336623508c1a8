//! The tables of attributes and types, each decoded at its first use.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::container::{Container, Entry};
use super::cursor::Cursor;
use super::value::{Attr, Type};
use super::{BASE_GROWTH, Fault, MAX_FAULTS, MAX_GROWTH, Read, builtin, quant, sdy, stablehlo, vhlo};
use crate::ir::MAX_TEXT;
use crate::text::{MAX_NESTING, escape_raw_bytes};

type Cache<T> = Vec<Option<Read<Rc<T>>>>;

/// Decodes attributes and types of a file.
pub(super) struct Entries<'a> {
    pub(super) file: Container<'a>,
    attributes: RefCell<Cache<Attr>>,
    types: RefCell<Cache<Type>>,
    faults: RefCell<Vec<Fault>>,
    depth: Cell<usize>,
    /// The number of bytes of text that may still be produced.
    room: Cell<usize>,
}

/// The attribute or type that is being decoded.
pub(super) struct Reader<'r, 'a> {
    pub(super) entries: &'r Entries<'a>,
    pub(super) from: Cursor<'a>,
    /// The byte at which it begins.
    pub(super) start: usize,
}

impl<'a> Entries<'a> {
    pub(super) fn new(file: Container<'a>, size: usize) -> Self {
        let attributes = RefCell::new(vec![None; file.attributes.len()]);
        let types = RefCell::new(vec![None; file.types.len()]);
        let room = Cell::new(size.saturating_mul(MAX_GROWTH).saturating_add(BASE_GROWTH).min(MAX_TEXT));
        Self { file, attributes, types, faults: RefCell::default(), depth: Cell::new(0), room }
    }

    /// Returns the attribute with this number.
    pub(super) fn attr(&self, index: usize) -> Read<Rc<Attr>> {
        self.resolve(index, &self.attributes, &self.file.attributes, "attribute", |reader, dialect| match dialect {
            "builtin" => builtin::attr(reader),
            "stablehlo" => stablehlo::attr(reader),
            "chlo" => stablehlo::chlo_attr(reader),
            "vhlo" => vhlo::attr(reader),
            "sdy" => sdy::attr(reader),
            _ => reader.unknown(dialect, "an attribute"),
        })
    }

    /// Returns the type with this number.
    pub(super) fn ty(&self, index: usize) -> Read<Rc<Type>> {
        self.resolve(index, &self.types, &self.file.types, "type", |reader, dialect| match dialect {
            "builtin" => builtin::ty(reader),
            "stablehlo" => stablehlo::ty(reader),
            "vhlo" => vhlo::ty(reader),
            "quant" => quant::ty(reader),
            _ => reader.unknown(dialect, "a type"),
        })
    }

    fn resolve<T: Textual>(
        &self,
        index: usize,
        cache: &RefCell<Cache<T>>,
        entries: &[Entry<'a>],
        what: &str,
        decode: impl FnOnce(&mut Reader<'_, 'a>, &str) -> Read<T>,
    ) -> Read<Rc<T>> {
        let Some(entry) = entries.get(index) else {
            return Err(Fault::new(self.file.ir.at, format!("{what} {index} is undefined")));
        };
        if let Some(known) = &cache.borrow()[index] {
            return known.clone();
        }
        let mut reader = Reader { entries: self, from: entry.data, start: entry.data.at };
        let depth = self.depth.get();
        let read = if depth >= MAX_NESTING {
            reader.from.fault(format!("attributes and types are nested deeper than {MAX_NESTING} levels"))
        } else {
            self.depth.set(depth + 1);
            let read = match entry.custom {
                true => decode(&mut reader, self.file.dialects[entry.dialect]),
                false => reader.text().map(T::of_text),
            };
            self.depth.set(depth);
            read.and_then(|value| reader.from.finish(what).map(|()| value))
        };
        let read = read.and_then(|value| self.spend(value.text().len(), reader.start).map(|()| Rc::new(value)));
        if let Err(fault) = &read {
            self.report(fault.clone());
        }
        cache.borrow_mut()[index] = Some(read.clone());
        read
    }

    /// Counts `bytes` more bytes of text against the limit.
    pub(super) fn spend(&self, bytes: usize, at: usize) -> Read<()> {
        match self.room.get().checked_sub(bytes) {
            Some(left) => {
                self.room.set(left);
                Ok(())
            }
            None => Err(Fault::new(at, format!("the text would be more than {MAX_GROWTH} times as long as the file"))),
        }
    }

    /// Records a fault, without duplicates.
    pub(super) fn report(&self, fault: Fault) {
        let mut faults = self.faults.borrow_mut();
        if faults.len() < MAX_FAULTS && !faults.contains(&fault) {
            faults.push(fault);
        }
    }

    /// Returns all faults.
    pub(super) fn into_faults(self) -> Vec<Fault> {
        self.faults.into_inner()
    }

    pub(super) fn has_faults(&self) -> bool {
        !self.faults.borrow().is_empty()
    }
}

/// A value with a text.
trait Textual {
    fn text(&self) -> &str;
    fn of_text(text: String) -> Self;
}

impl Textual for Attr {
    fn text(&self) -> &str {
        &self.text
    }

    fn of_text(text: String) -> Self {
        Attr::other(text)
    }
}

impl Textual for Type {
    fn text(&self) -> &str {
        &self.text
    }

    fn of_text(text: String) -> Self {
        Type::new(text)
    }
}

impl<'a> Reader<'_, 'a> {
    /// Reads a reference to another attribute.
    pub(super) fn attr(&mut self) -> Read<Rc<Attr>> {
        let index = self.from.index(self.entries.file.attributes.len(), "attribute")?;
        self.entries.attr(index)
    }

    pub(super) fn optional_attr(&mut self) -> Read<Option<Rc<Attr>>> {
        let at = self.from.at;
        let (index, there) = self.from.flagged()?;
        if !there {
            return Ok(None);
        }
        match usize::try_from(index) {
            Ok(index) if index < self.entries.file.attributes.len() => self.entries.attr(index).map(Some),
            _ => Err(Fault::new(at, format!("attribute {index} is undefined"))),
        }
    }

    pub(super) fn attrs(&mut self) -> Read<Vec<Rc<Attr>>> {
        let n = self.from.count("attributes")?;
        (0..n).map(|_| self.attr()).collect()
    }

    pub(super) fn ty(&mut self) -> Read<Rc<Type>> {
        let index = self.from.index(self.entries.file.types.len(), "type")?;
        self.entries.ty(index)
    }

    pub(super) fn types(&mut self) -> Read<Vec<Rc<Type>>> {
        let n = self.from.count("types")?;
        (0..n).map(|_| self.ty()).collect()
    }

    pub(super) fn string(&mut self) -> Read<&'a [u8]> {
        self.entries.file.string(&mut self.from)
    }

    pub(super) fn signed_list(&mut self) -> Read<Vec<i64>> {
        self.from.signed_list()
    }

    /// Reads the bits of a number of `width` bits.
    pub(super) fn bits(&mut self, width: u32) -> Read<u64> {
        match width {
            0..=8 => self.from.byte().map(u64::from),
            9..=64 => self.from.signed().map(|v| v as u64),
            _ => {
                let message = format!("a number has {width} bits; at most 64 are supported");
                Err(Fault::unknown(self.from.at, message))
            }
        }
    }

    /// Reads the value of an `f64`.
    pub(super) fn double(&mut self) -> Read<f64> {
        self.bits(64).map(f64::from_bits)
    }

    pub(super) fn blob(&mut self) -> Read<&'a [u8]> {
        let length = self.from.number()?;
        Ok(self.from.part(length)?.rest())
    }

    /// Reads the number of one of these words, and returns the word.
    pub(super) fn one_of(&mut self, words: &[&'static str]) -> Read<&'static str> {
        let index = self.from.index(words.len(), "value of an enumeration")?;
        match words[index] {
            "" => self.from.fault(format!("an enumeration has no value {index}")),
            word => Ok(word),
        }
    }

    /// Reads an attribute or type in MLIR's text.
    fn text(&mut self) -> Read<String> {
        let at = self.from.at;
        let text = self.from.zero_ended()?;
        match escape_raw_bytes(text) {
            // The parser reads the text in place of an attribute, so it must not extend over several lines.
            Ok(text) if !text.contains('\n') => Ok(text),
            Ok(text) => Ok(text.replace('\n', " ")),
            Err(_) => Err(Fault::new(at, "the text of an attribute or a type is not UTF-8 outside of its strings")),
        }
    }

    /// Returns a fault for an unknown code.
    pub(super) fn no_code<T>(&self, code: u64, what: &str) -> Read<T> {
        Err(Fault::unknown(self.start, format!("{what} has the unknown kind {code}")))
    }

    fn unknown<T>(&self, dialect: &str, what: &str) -> Read<T> {
        let message = format!("{what} belongs to the dialect '{dialect}', whose bytecode is not supported");
        Err(Fault::unknown(self.start, message))
    }
}
