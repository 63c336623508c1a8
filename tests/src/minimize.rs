//! Makes a program that shows a fault smaller, as long as it still shows it.

use dialect::diagnostic::Diagnostics;
use dialect::ir::build::Builder;
use dialect::ir::{Op, Program, Value};
use dialect::ops::build;
use dialect::scalar::Scalar;

/// The number of programs that may be tried.
const TRIES: usize = 600;

/// Returns the smallest program found that still `fails`: without results, ops, arguments and shardings that the
/// fault doesn't need, and with smaller dimensions.
pub fn minimized(text: &str, fails: impl Fn(&str) -> bool) -> String {
    let (mut best, mut tries) = (text.to_owned(), 0);
    let ways: [fn(&str, usize) -> Option<String>; 5] =
        [without_result, without_op, without_argument, without_sharding, with_smaller_size];
    loop {
        let before = best.len();
        for way in ways {
            let mut i = 0;
            while tries < TRIES {
                let Some(smaller) = way(&best, i) else { break };
                tries += 1;
                match smaller.len() < best.len() && fails(&smaller) {
                    true => best = smaller,
                    false => i += 1,
                }
            }
        }
        if best.len() == before {
            return best;
        }
    }
}

/// Returns the program with op `i`, counted from the end, replaced by earlier values of the same types or zeros, and
/// without the ops that nothing uses then; `None` if there are no more ops.
fn without_op(text: &str, i: usize) -> Option<String> {
    let mut program = dialect::parse(text, &mut Diagnostics::default());
    let blocks = program.blocks_under(program.body());
    let ops = blocks.iter().skip(1).flat_map(|&block| program.block_ops(block).iter().map(move |&op| (block, op)));
    let (block, op) =
        ops.filter(|&(_, op)| program.result_count(op) > 0).collect::<Vec<_>>().into_iter().rev().nth(i)?;
    let at = program.block_ops(block).iter().position(|&other| other == op)?;
    let mut replaced: Vec<(Value, Value)> = Vec::new();
    let mut zeros = Vec::new();
    for result in program.results(op) {
        let before = program.block_ops(block)[..at].iter().flat_map(|&op| program.results(op));
        let mut visible = program.block_args(block).iter().copied().chain(before).collect::<Vec<_>>().into_iter().rev();
        let like = visible.find(|&value| program.value_type(value) == program.value_type(result));
        let Some(ty) = program.tensor_type(result).cloned() else { return Some(text.to_owned()) };
        let value = like.unwrap_or_else(|| {
            let loc = program.op(op).loc;
            let mut builder = Builder::new(&mut program, &mut zeros, loc);
            let zero = build::scalar(&mut builder, ty.element, Scalar::zero(ty.element));
            build::shape::splat(&mut builder, zero, &ty.shape)
        });
        replaced.push((result, value));
    }
    for user in program.ops_under(program.body()) {
        for operand in &mut program.op_mut(user).operands {
            if let Some(&(_, value)) = replaced.iter().find(|pair| pair.0 == *operand) {
                *operand = value;
            }
        }
    }
    let mut ops = program.block_ops(block).to_vec();
    ops.splice(at..=at, zeros);
    program.set_block_ops(block, ops);
    remove_unused(&mut program);
    Some(dialect::print(&program))
}

fn remove_unused(program: &mut Program) {
    loop {
        let all = program.ops_under(program.body());
        let used: Vec<Value> = all.iter().flat_map(|&op| program.op(op).operands.to_vec()).collect();
        let unused =
            |op: &Op| program.result_count(*op) > 0 && !program.results(*op).any(|value| used.contains(&value));
        let dead: Vec<Op> = all.into_iter().filter(unused).collect();
        if dead.is_empty() {
            return;
        }
        for block in program.blocks_under(program.body()) {
            let kept = program.block_ops(block).iter().copied().filter(|op| !dead.contains(op)).collect();
            program.set_block_ops(block, kept);
        }
    }
}

/// Returns the program without result `i` of its function; `None` if there is no such result or no other.
fn without_result(text: &str, i: usize) -> Option<String> {
    let (head, rest) = text.split_once("-> (")?;
    let (results, rest) = rest.split_once(") {\n")?;
    let (body, returned) = rest.rsplit_once("return ")?;
    let (line, end) = returned.split_once('\n')?;
    let (names, types) = line.split_once(" : ")?;
    let without = |list: &str| {
        let mut parts = parts(list);
        (i < parts.len() && parts.len() > 1).then(|| parts.remove(i)).map(|_| parts.join(", "))
    };
    let (results, names, types) = (without(results)?, without(names)?, without(types)?);
    Some(format!("{head}-> ({results}) {{\n{body}return {names} : {types}\n{end}"))
}

/// Returns the program without the `i`th of the arguments, if nothing uses it, or else the text as it is; `None` if
/// there is no such argument.
fn without_argument(text: &str, i: usize) -> Option<String> {
    let (head, rest) = text.split_once("@main(")?;
    let (arguments, body) = rest.split_once(") -> (")?;
    let mut arguments = parts(arguments);
    let name = (i < arguments.len()).then(|| arguments.remove(i))?.split(':').next()?.to_owned();
    let is_used = body.split(|c: char| !c.is_alphanumeric() && !"%_".contains(c)).any(|word| word == name);
    Some(if is_used { text.to_owned() } else { format!("{head}@main({}) -> ({body}", arguments.join(", ")) })
}

/// Returns the program without sharding `i`; `None` if there are no more.
fn without_sharding(text: &str, i: usize) -> Option<String> {
    let (start, _) = text.match_indices(" {sdy.sharding = ").nth(i)?;
    let end = start + text[start..].find(">}")? + 2;
    Some([&text[..start], &text[end..]].concat())
}

/// Splits a list at the commas outside all brackets.
fn parts(list: &str) -> Vec<String> {
    let mut depth = 0;
    let outside = |c: char| {
        depth += i32::from("<([{".contains(c)) - i32::from(">)]}".contains(c));
        c == ',' && depth == 0
    };
    list.split(outside).map(|part| part.trim().to_owned()).collect()
}

/// Returns the program with all numbers equal to one of the sizes in its types replaced by a smaller one; `None` after
/// all sizes and smaller ones.
fn with_smaller_size(text: &str, i: usize) -> Option<String> {
    let in_types = text.split("tensor<").skip(1).filter_map(|rest| rest.split('>').next());
    let mut sizes: Vec<i64> = in_types.flat_map(|ty| ty.split('x').filter_map(|size| size.parse().ok())).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let smaller = |n: i64| [1, 2, n / 2, n - 1].into_iter().filter(move |&m| 0 < m && m < n).map(move |m| (n, m));
    let mut ways = sizes.into_iter().rev().flat_map(smaller).flat_map(|way| [(way, false), (way, true)]);
    let ((from, to), only_types) = ways.nth(i)?;
    let (from, to) = (from.to_string(), to.to_string());
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |n| start + n);
        out += &rest[..start];
        let before = out.chars().next_back().unwrap_or(' ');
        let is_size = rest[end..].starts_with('x') && (before == '<' || before == 'x');
        let is_number = !before.is_alphanumeric() && !"%#_.".contains(before) && !only_types;
        out += if rest[start..end] == from && (is_size || is_number) { &to } else { &rest[start..end] };
        rest = &rest[end..];
    }
    Some(out + rest)
}
