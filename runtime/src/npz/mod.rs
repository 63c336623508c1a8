//! Reads and writes NumPy's archives (`.npz`) of the arrays that programs take and return.
//!
//! bf16, which NumPy doesn't support, has the dtype `|V2` (raw bits). Other one-byte types are `|V1`, read as `ui8`
//! until [`conform`] gives them their type. Files are untrusted: the sizes they claim are compared with their number of
//! bytes before anything is allocated. Equal arrays are always written as equal bytes.
//!
//! Files are mapped into memory. Entries that aren't compressed aren't copied: their arrays are views of the file.
//! Source: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

mod header;

use std::fs::File;
use std::io::{self, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use bytes::Bytes;
use dialect::ir::ElementType;
use dialect::literal::Literal;
use rustc_hash::FxHashSet;
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::files::{self, Prepared};
use header::Header;

/// Arrays by name, in the archive's order.
pub type Arrays = Vec<(String, Literal)>;

/// The highest compression ratio DEFLATE can reach.
const MAX_RATIO: usize = 1032;

/// The maximum number of bytes that are read from a pipe or a device, which may never end.
const MAX_STREAM: u64 = 1 << 32;

/// Reads all arrays of an archive. Entries that aren't called `*.npy` are skipped, as in NumPy. Arrays that aren't
/// compressed share the archive's bytes, which stay in memory as long as the arrays.
pub fn read(archive: impl Into<Bytes>) -> Result<Arrays, String> {
    read_entries(archive.into(), true)
}

fn read_entries(bytes: Bytes, verify: bool) -> Result<Arrays, String> {
    if bytes.starts_with(header::MAGIC) {
        return Err("this is a single array (.npy), not an archive of named ones; \
                    save it with numpy.savez(file, arg0=array)"
            .into());
    }
    let mut archive = ZipArchive::new(Cursor::new(&bytes[..])).map_err(|e| format!("not an .npz archive: {e}"))?;
    let mut budget = bytes.len().saturating_mul(MAX_RATIO);
    let (mut arrays, mut names) = (Arrays::new(), FxHashSet::default());
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(|e| match e {
            ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => {
                unreadable(i, &e.to_string())
            }
            e => format!("entry {i} of the archive: {e}"),
        })?;
        let name = entry.name().map_err(|e| format!("the name of entry {i} of the archive: {e}"))?;
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
        // The reader would return an empty array for compression methods that it is built without, instead of failing.
        let method = entry.compression();
        if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(unreadable(i, &method.to_string()));
        }
        let literal = read_array(entry, &bytes, &mut budget, verify).map_err(|e| format!("array '{name}': {e}"))?;
        if !names.insert(name.clone()) {
            return Err(format!("two arrays are called '{name}'"));
        }
        arrays.push((name, literal));
    }
    Ok(arrays)
}

fn unreadable(entry: usize, why: &str) -> String {
    format!(
        "entry {entry} of the archive has an unsupported compression ({why}); save it with numpy.savez or \
        numpy.savez_compressed"
    )
}

/// Does the same as [`read`] for a file, which must not be modified while the arrays live; [`write_file`] may replace
/// it.
pub fn read_file(path: &Path) -> Result<Arrays, String> {
    let bytes = map(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    read(bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// Does the same as [`read_file`], for callers that need only parts of the arrays. Entries that aren't compressed
/// aren't read until they are accessed, so their checksums aren't verified.
pub fn map_file(path: &Path) -> Result<Arrays, String> {
    let bytes = map(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    read_entries(bytes, false).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns the bytes of a file: mapped into memory, or read if it is a pipe or a device.
fn map(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_file()
        && about.len() > 0
        && let Ok(map) = files::map(&file)
    {
        return Ok(map);
    }
    let mut bytes = Vec::new();
    if file.take(MAX_STREAM + 1).read_to_end(&mut bytes)? as u64 > MAX_STREAM {
        return Err(io::Error::other(format!(
            "more than {MAX_STREAM} bytes, the limit for input that is not a regular file"
        )));
    }
    Ok(bytes.into())
}

/// Returns an uncompressed archive of these arrays, as `numpy.savez` writes it.
pub fn write(arrays: &[(String, Literal)]) -> Result<Vec<u8>, String> {
    let mut out = Cursor::new(Vec::new());
    write_to(&mut out, arrays)?;
    Ok(out.into_inner())
}

/// Does the same as [`write()`] to a file, by [`files::replace`], so that arrays may be views of the existing file.
pub fn write_file(path: &Path, arrays: &[(String, Literal)]) -> Result<(), String> {
    prepare_file(path, arrays)?.finish().map_err(|e| cannot_write(path, &e))
}

/// Does the same as [`write_file`], but leaves the renaming to [`Prepared::finish`].
pub fn prepare_file(path: &Path, arrays: &[(String, Literal)]) -> Result<Prepared, String> {
    let write = |file: &mut File| write_to(BufWriter::new(file), arrays).map_err(io::Error::other);
    files::prepare(path, write).map_err(|e| cannot_write(path, &e))
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("can't write {}: {error}", path.display())
}

/// Converts `literal` to elements of type `element`, for types that a file stores as raw bits of another type: `ui8` to
/// an f8 or narrower type, `i8` and `ui8` to integers of fewer bits. Returns `None` if a value isn't of that type.
pub fn conform(literal: &Literal, element: ElementType) -> Option<Literal> {
    let found = literal.element;
    if found == element {
        return Some(literal.clone());
    }
    let raw = found == ElementType::UI8 && element.bytes() == 1 && element != ElementType::I8;
    let narrow = found == ElementType::I8 && matches!(element, ElementType::I4 | ElementType::I2);
    if !raw && !narrow || element == ElementType::I1 {
        return None;
    }
    let bits = element.bits();
    let mut bytes = literal.stored_bytes().to_vec();
    for byte in &mut bytes {
        let (low, unused) = (*byte << (8 - bits), *byte >> bits.min(7));
        let kept = if matches!(element, ElementType::I4 | ElementType::I2) {
            // Narrow signed integers are sign-extended in their byte, or have zeros above.
            let signed = (low as i8 >> (8 - bits)) as u8;
            (*byte == signed || unused == 0).then_some(signed)
        } else {
            (bits == 8 || unused == 0).then_some(*byte)
        };
        *byte = kept?;
    }
    Some(Literal::from_bytes(element, &literal.shape, bytes))
}

/// Reads one `.npy` entry of `archive` whose data may take at most `budget` bytes, and subtracts its size from the
/// budget.
fn read_array(
    mut entry: ZipFile<'_, impl Read>,
    archive: &Bytes,
    budget: &mut usize,
    verify: bool,
) -> Result<Literal, String> {
    match stored(&entry, archive) {
        Some(whole) => {
            let mut rest = &whole[..];
            let (header, size) = read_header(&mut rest, budget)?;
            expect_size(&header, size, rest.len())?;
            // Reads to the end, because that verifies the archive's checksum.
            if verify {
                io::copy(&mut entry, &mut io::sink()).map_err(|e| e.to_string())?;
            }
            Ok(header.literal(whole.slice(whole.len() - size..)))
        }
        None => {
            let (header, size) = read_header(&mut entry, budget)?;
            let mut data = Vec::new();
            data.try_reserve_exact(size).map_err(|e| format!("{size} bytes: {e}"))?;
            // Reading one byte more than expected detects entries that are too long.
            let read = entry.take(size as u64 + 1).read_to_end(&mut data).map_err(|e| e.to_string())?;
            expect_size(&header, size, read)?;
            Ok(header.literal(data.into()))
        }
    }
}

/// Returns the part of `archive` that is an entry's content, if the entry is neither compressed nor encrypted.
fn stored(entry: &ZipFile<'_, impl Read>, archive: &Bytes) -> Option<Bytes> {
    let plain = entry.compression() == CompressionMethod::Stored && !entry.encrypted();
    let start = usize::try_from(entry.data_start()?).ok()?;
    let end = start.checked_add(usize::try_from(entry.size()).ok()?)?;
    (plain && entry.size() == entry.compressed_size() && end <= archive.len()).then(|| archive.slice(start..end))
}

/// Reads the header of an array, and returns it with the size of its data.
fn read_header(entry: &mut impl Read, budget: &mut usize) -> Result<(Header, usize), String> {
    let header = Header::read(entry)?;
    let size = header
        .data_bytes()
        .filter(|n| n <= budget)
        .ok_or_else(|| format!("its header claims the shape {:?}, more than the file can hold", &header.shape))?;
    *budget -= size;
    Ok((header, size))
}

fn expect_size(header: &Header, size: usize, found: usize) -> Result<(), String> {
    if found == size {
        return Ok(());
    }
    let (short, shape) = (if found < size { "only " } else { "more than " }, &header.shape);
    Err(format!("expected {size} bytes for the shape {shape:?}, found {short}{}", found.min(size)))
}

fn write_to(out: impl Write + Seek, arrays: &[(String, Literal)]) -> Result<(), String> {
    let mut zip = ZipWriter::new(UntilFailure::new(out));
    for (name, literal) in arrays {
        let fail = |e: &dyn std::fmt::Display| format!("array '{name}': {e}");
        if !files::is_plain_name(name) {
            return Err(format!(
                "{name:?} is not a valid name of an array: it may lead out of the folder into which it is unpacked"
            ));
        }
        let data = literal.dense_bytes();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .large_file(data.len() as u64 >= u64::from(u32::MAX) - (1 << 16));
        zip.start_file(format!("{name}.npy"), options).map_err(|e| fail(&e))?;
        let header = Header::of(literal)?.encode();
        zip.write_all(&header).and_then(|()| zip.write_all(&data)).map_err(|e| fail(&e))?;
    }
    zip.finish().and_then(|mut out| Ok(out.flush()?)).map_err(|e| e.to_string())
}

/// A file that ignores writes after one has failed. An archive that is dropped after an error still writes its end, and
/// would report another error on standard error. Positions continue as if writes succeeded, because the archive depends
/// on them.
struct UntilFailure<W> {
    out: W,
    failed: bool,
    at: u64,
    end: u64,
}

impl<W> UntilFailure<W> {
    fn new(out: W) -> Self {
        Self { out, failed: false, at: 0, end: 0 }
    }

    fn seen<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.failed = done.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted);
        done
    }
}

impl<W: Write> Write for UntilFailure<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.failed { bytes.len() } else { self.out.write(bytes).or_else(|e| self.seen(Err(e)))? };
        self.at += written as u64;
        self.end = self.end.max(self.at);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed { Ok(()) } else { self.out.flush().or_else(|e| self.seen(Err(e))) }
    }
}

impl<W: Seek> Seek for UntilFailure<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            _ if !self.failed => self.out.seek(to).or_else(|e| self.seen(Err(e)))?,
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => self.end.saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests;
