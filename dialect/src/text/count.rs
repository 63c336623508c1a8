//! How many ops a text has at least, counted by its lines: a text with far too many is refused before it is built.

use crate::diagnostic::Span;

/// Returns the names of the op that is one more than `most`, if more than `most` lines begin with an op that has
/// results. Ops that share a line are counted once, and those without results not at all.
pub(super) fn names_of_op_after(text: &str, most: usize) -> Option<Span> {
    // Every such line has at least the six bytes of `%0=a.b` and its end.
    if text.len() / 7 <= most {
        return None;
    }
    let places = text.split('\n').scan(0, |next, line| {
        let start = *next;
        *next += line.len() + 1;
        Some((start, line))
    });
    let mut places = places.filter(|(_, line)| begins_with_op(line.as_bytes()));
    let (start, line) = places.nth(most)?;
    Some(Span::new(start, start + line.find('=').unwrap_or(0)))
}

/// Returns whether a line is `%a = stablehlo…`, `%a:2, %b = "stablehlo…`. Values of arguments and loops are named
/// otherwise: with a type after the name, or another name after `=`.
fn begins_with_op(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    if line.first() != Some(&b'%') {
        return false;
    }
    let Some(equals) = line.iter().position(|&b| b == b'=') else { return false };
    let in_names = |b: &u8| b.is_ascii_alphanumeric() || b"%_.$-#:, ".contains(b);
    let next = line[equals + 1..].trim_ascii_start().first();
    line[..equals].iter().all(in_names) && next.is_some_and(|b| b.is_ascii_alphabetic() || *b == b'"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_an_op_are_counted() {
        let text = "  %0 = stablehlo.add %a, %a : tensor<2xf32>\n%x:2, %y=\"a.b\"()\n\
            %arg0: tensor<2xf32> {jax.buffer_donor = true},\n  %i = %0,\n// %0 = a.b\nreturn %0\n%s = a.b \"%1 = a.b\"";
        assert_eq!(text.lines().filter(|line| begins_with_op(line.as_bytes())).count(), 3);
    }

    #[test]
    fn the_first_op_too_many_is_found() {
        let text = "%0 = a.b\n%1 = a.b\n  %2 = a.b\n";
        assert_eq!(names_of_op_after(text, 3), None);
        assert_eq!(names_of_op_after(text, 2).map(|s| (s.start, s.end)), Some((18, 23)));
        assert_eq!(names_of_op_after(text, 1).map(|s| (s.start, s.end)), Some((9, 12)));
    }
}
