//! Byte strings: the strings of attributes and locations, which need not be UTF-8 text.

use std::borrow::Cow;
use std::fmt;

/// A string of any bytes, as in MLIR: serialized kernels and the pointers that JAX passes to itself are such strings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteString(Box<[u8]>);

impl ByteString {
    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text; `None` for bytes that aren't UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Returns the text for messages, with replacement characters for bytes that aren't UTF-8.
    pub fn shown(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Returns whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AsRef<[u8]> for ByteString {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ByteString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl From<Vec<u8>> for ByteString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<&[u8]> for ByteString {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<String> for ByteString {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}
