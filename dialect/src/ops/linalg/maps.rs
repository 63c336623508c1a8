//! Affine maps in MLIR's syntax: the element of an operand that an iteration reads.

use crate::kernel::Index;

/// The limit of constants: programs don't have larger ones, and products of them with positions would overflow.
const MAX_CONSTANT: i64 = 1 << 31;

/// The limit of nested parentheses: programs don't have more.
const MAX_DEPTH: usize = 32;

/// A map from loops to positions.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Map {
    /// The number of loops.
    pub(super) loops: usize,
    /// A position for each dimension of the operand.
    pub(super) positions: Vec<Index>,
}

impl Map {
    /// Parses `affine_map<(d0, d1) -> (d1, d0 * 2 + 1)>`; returns `None` for maps with symbols and for other text.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let inside = text.trim().strip_prefix("affine_map<")?.strip_suffix('>')?;
        let (dims, results) = inside.split_once("->")?;
        let dims = dims.trim().strip_prefix('(')?.strip_suffix(')')?;
        let names: Vec<&str> = dims.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let mut reader = Reader { names: &names, text: results.as_bytes(), at: 0, depth: 0 };
        let mut positions = Vec::new();
        reader.eat("(").then_some(())?;
        while !reader.eat(")") {
            if !positions.is_empty() {
                reader.eat(",").then_some(())?;
            }
            positions.push(reader.sum()?);
        }
        reader.space();
        (reader.at == reader.text.len()).then_some(Self { loops: names.len(), positions })
    }
}

struct Reader<'a> {
    names: &'a [&'a str],
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(token.as_bytes());
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn sum(&mut self) -> Option<Index> {
        let mut value = self.product()?;
        loop {
            if self.eat("+") {
                value = value.plus(self.product()?);
            } else if self.eat("-") {
                value = value.plus(self.product()?.times(-1));
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<Index> {
        let mut value = self.factor()?;
        loop {
            if self.eat("*") {
                value = match (value, self.factor()?) {
                    (Index::Const(a), Index::Const(b)) => {
                        Index::Const(a.checked_mul(b).filter(|c| c.abs() < MAX_CONSTANT)?)
                    }
                    (value, Index::Const(c)) | (Index::Const(c), value) => value.times(c),
                    _ => return None,
                };
            } else if self.eat("floordiv") {
                value = value.floor_div(self.positive()?);
            } else if self.eat("ceildiv") {
                let by = self.positive()?;
                value = value.plus(Index::Const(by - 1)).floor_div(by);
            } else if self.eat("mod") {
                value = value.modulo(self.positive()?);
            } else {
                return Some(value);
            }
        }
    }

    fn positive(&mut self) -> Option<i64> {
        match self.factor()? {
            Index::Const(c) if c > 0 => Some(c),
            _ => None,
        }
    }

    fn factor(&mut self) -> Option<Index> {
        if self.eat("-") {
            return self.deeper(|r| Some(r.factor()?.times(-1)));
        }
        if self.eat("(") {
            let value = self.deeper(Self::sum)?;
            return self.eat(")").then_some(value);
        }
        self.space();
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let word = std::str::from_utf8(&rest[..length]).ok()?;
        self.at += length;
        match self.names.iter().position(|name| *name == word) {
            Some(i) => Some(Index::Loop(i)),
            None => word.parse().ok().filter(|c| (0..MAX_CONSTANT).contains(c)).map(Index::Const),
        }
    }

    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let value = if self.depth > MAX_DEPTH { None } else { f(self) };
        self.depth -= 1;
        value
    }
}

/// Returns the smallest and the largest value of a position in loops of these sizes, none of which is 0. `None` on
/// overflow or for an unknown loop.
pub(super) fn bounds(index: &Index, loops: &[i64]) -> Option<(i64, i64)> {
    Some(match index {
        Index::Loop(i) => (0, *loops.get(*i)? - 1),
        Index::Const(c) => (*c, *c),
        Index::Add(a, b) => {
            let (a, b) = (bounds(a, loops)?, bounds(b, loops)?);
            (a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)
        }
        Index::Mul(a, by) => {
            let (low, high) = bounds(a, loops)?;
            let (x, y) = (low.checked_mul(*by)?, high.checked_mul(*by)?);
            (x.min(y), x.max(y))
        }
        Index::FloorDiv(a, by) => {
            let (low, high) = bounds(a, loops)?;
            (low.div_euclid(*by), high.div_euclid(*by))
        }
        Index::Mod(_, by) => (0, by - 1),
        Index::Clamp(..) | Index::Load { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read() {
        let at = |text: &str, loops: &[i64]| {
            let map = Map::of_text(&format!("affine_map<(d0, d1) -> ({text})>"))?;
            Some(map.positions.iter().map(|p| p.eval(loops, &mut |_, _| 0)).collect::<Vec<_>>())
        };
        assert_eq!(at("d1, d0", &[3, 5]), Some(vec![5, 3]));
        assert_eq!(at("d0 * 2 + d1 * 3 - 1, 7", &[3, 5]), Some(vec![20, 7]));
        assert_eq!(at("(d0 + d1) mod 3, 4 * (d0 - 1)", &[3, 5]), Some(vec![2, 8]));
        assert_eq!(at("d1 floordiv 2, d1 ceildiv 2, -d0", &[3, 5]), Some(vec![2, 3, -3]));
        assert_eq!(at("", &[3, 5]), Some(vec![]));
        for wrong in
            ["d0 * d1", "2000000000 * 2000000000 * d0", "s0", "d0 floordiv 0", "d0 +", "d0 d1", "99999999999999999999"]
        {
            assert_eq!(at(wrong, &[3, 5]), None, "{wrong}");
        }
        assert_eq!(at(&format!("{}d0{}", "(".repeat(99), ")".repeat(99)), &[3, 5]), None);
        assert_eq!(Map::of_text("affine_map<(d0)[s0] -> (d0)>"), None);
        assert_eq!(Map::of_text("affine_map<() -> ()>"), Some(Map { loops: 0, positions: vec![] }));
    }

    #[test]
    fn bounds_of_positions() {
        let of =
            |text: &str| bounds(&Map::of_text(&format!("affine_map<(d0, d1) -> ({text})>"))?.positions[0], &[4, 6]);
        assert_eq!(of("d0"), Some((0, 3)));
        assert_eq!(of("d0 * 2 - d1"), Some((-5, 6)));
        assert_eq!(of("(d1 + 3) floordiv 4"), Some((0, 2)));
        assert_eq!(of("d1 mod 5"), Some((0, 4)));
    }
}
