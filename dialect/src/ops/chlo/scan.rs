//! `chlo.scan`: a computation applied to the slices along a dimension in order, with values carried from each to the
//! next. The import pass expands it to a loop. Source: <https://openxla.org/stablehlo/generated/chlo>.

use crate::eval::{Context, EvalError, EvalResult, region_on_lane};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, OpRef, Renaming, Shape, TensorType, TypeData, Value};
use crate::kernel::{External, Kernel};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::stablehlo::control::{RETURN, While, region};
use crate::ops::support::constraint::{Checked, compatible, declared, int, is_static, require, tensor};
use crate::scalar::{Comparison, Scalar};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Scan];

/// `chlo.scan`
pub struct Scan;

/// `(%a, %b) inits (%c) dimension=0 attributes {…} {^bb0(…): …} : (T, …) -> (U, …)`
static SYNTAX: CustomSyntax = CustomSyntax { parse, print };

const OPERANDS: &str = "operandSegmentSizes";
const RESULTS: &str = "resultSegmentSizes";

fn parse(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operands_in_parentheses(op)?;
    let inputs = op.operands.len();
    p.expect("inits")?;
    p.operands_in_parentheses(op)?;
    let carries = op.operands.len() - inputs;
    p.expect_all(&["dimension", "="])?;
    let dim = p.integer()?;
    let dim = p.program.attr_i64(dim);
    op.set(&mut p.program, "dimension", dim);
    p.attributes_keyword(op)?;
    let body = p.isolated_region(&[])?;
    op.regions.push(body);
    p.expect(":")?;
    let span = p.token().span();
    let (types, results) = p.functional_type()?;
    if results.len() < carries {
        return p
            .fail(span, format!("expected a result for each of {carries} carried values, found {}", results.len()));
    }
    for (name, sizes) in [(OPERANDS, [inputs, carries]), (RESULTS, [results.len() - carries, carries])] {
        let sizes = AttrData::DenseArray(ElementType::I32, sizes.map(|n| n as i64).to_vec());
        let sizes = p.program.intern_attr(sizes);
        op.set(&mut p.program, name, sizes);
    }
    op.results.extend(results);
    p.check_operands(op, &types)
}

fn print(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (Some((inputs, _)), Some(dim), [body]) = (segments(op), op.int("dimension"), &op.program.op(op.op).regions[..])
    else {
        return false;
    };
    let (inputs, inits) = op.operands().split_at(inputs);
    p.text("(");
    p.values(inputs);
    p.text(") inits (");
    p.values(inits);
    p.text(&format!(") dimension={dim}"));
    p.attributes_keyword(op, &["dimension", OPERANDS, RESULTS]);
    p.text(" ");
    p.region(*body, op, true);
    p.text(" : ");
    p.op_type(op);
    true
}

/// Returns the numbers of scanned operands and of output results; the remaining operands and results are carried.
fn segments(op: OpRef<'_>) -> Option<(usize, usize)> {
    let split = |name: &str, count: usize| {
        let sizes = op.ints(name)?;
        let &[first, carried] = &sizes[..] else { return None };
        let (first, carried) = (usize::try_from(first).ok()?, usize::try_from(carried).ok()?);
        (first.checked_add(carried)? == count).then_some((first, carried))
    };
    let (inputs, carries) = split(OPERANDS, op.operands().len())?;
    let (outputs, same) = split(RESULTS, op.result_count())?;
    (carries == same).then_some((inputs, outputs))
}

/// The parameters of a scan that passed its checks.
struct ScanParams {
    inputs: usize,
    outputs: usize,
    dim: usize,
    /// The number of slices along `dim`.
    size: i64,
    reverse: bool,
}

/// Returns `shape` without dimension `dim`.
fn without(shape: &[i64], dim: usize) -> Shape {
    shape.iter().enumerate().filter(|d| d.0 != dim).map(|d| *d.1).collect()
}

fn with(shape: &[i64], dim: usize, size: i64) -> Shape {
    let mut shape = Shape::from_slice(shape);
    shape.insert(dim.min(shape.len()), size);
    shape
}

impl Scan {
    fn check(op: OpRef<'_>) -> Checked<ScanParams> {
        let (inputs, outputs) = segments(op).ok_or_else(|| {
            Problem::new(format!("expected {OPERANDS} and {RESULTS} that fit its operands and results"))
        })?;
        let wanted = int(op, "dimension")?;
        let dim = usize::try_from(wanted).unwrap_or(usize::MAX);
        let mut size = op.int("scan_dim_size");
        for i in 0..inputs {
            let ty = tensor(op, i)?;
            require!(dim < ty.rank(), operand = i, "expected more than {wanted} dimensions, found {}", ty.rank());
            let (want, found) = (*size.get_or_insert(ty.shape[dim]), ty.shape[dim]);
            let valid = want == found || want < 0 || found < 0;
            require!(valid, operand = i, "expected size {want} in dimension {dim}, found {found}");
        }
        let size = size.ok_or_else(|| Problem::new("expected an input, or scan_dim_size"))?;
        let args = op.region_args(0);
        let count = op.operands().len();
        require!(args.len() == count, "expected {count} arguments of the body, found {}", args.len());
        for (i, &arg) in args.iter().enumerate() {
            let ty = tensor(op, i)?;
            let want = if i < inputs { without(&ty.shape, dim) } else { ty.shape.clone() };
            let fits = op.program.tensor_type(arg).is_some_and(|a| fits(a, &TensorType::new(&want, ty.element)));
            require!(fits, operand = i, "expected argument {i} of the body to have its type");
        }
        let given = op.region_results(0);
        let want = op.result_count();
        require!(given.len() == want, "expected the body to return {want} values, found {}", given.len());
        for (i, &value) in given.iter().enumerate().skip(outputs) {
            let carried = args[inputs + i - outputs];
            let same = match (op.program.tensor_type(value), op.program.tensor_type(carried)) {
                (Some(a), Some(b)) => fits(a, b),
                _ => false,
            };
            require!(same, "expected the body to return the carried type as value {i}");
        }
        Ok(ScanParams { inputs, outputs, dim, size, reverse: op.flag("is_reverse") })
    }
}

fn fits(a: &TensorType, b: &TensorType) -> bool {
    a.element == b.element && compatible(&a.shape, &b.shape)
}

impl OpDef for Scan {
    fn name(&self) -> &'static str {
        "chlo.scan"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&SYNTAX)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let form = Self::check(op)?;
        if !is_static(op) {
            return declared(op);
        }
        let mut types: Vec<TypeData> = Vec::new();
        for (i, &value) in op.region_results(0).iter().enumerate() {
            let ty =
                op.program.tensor_type(value).ok_or_else(|| Problem::new("expected the body to return tensors"))?;
            let shape = if i < form.outputs { with(&ty.shape, form.dim, form.size) } else { ty.shape.clone() };
            types.push(TensorType::new(&shape, ty.element).into());
        }
        Ok(types)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let form = Self::check(op)?;
        let (inputs, inits) = operands.split_at(form.inputs);
        let size = inputs.first().map_or(form.size, |i| i.shape[form.dim]).max(0);
        let mut carried = inits.to_vec();
        let mut slices: Vec<Vec<Literal>> = vec![Vec::new(); form.outputs];
        for step in 0..size {
            cx.step()?;
            let at = if form.reverse { size - 1 - step } else { step };
            let mut args: Vec<Literal> = inputs.iter().map(|input| slice(input, form.dim, at)).collect();
            args.append(&mut carried);
            let mut given = region_on_lane(cx, region(op, 0)?, &args)?;
            carried = given.split_off(form.outputs.min(given.len()));
            slices.iter_mut().zip(given).for_each(|(list, value)| list.push(value));
        }
        let mut results = Vec::new();
        for (i, mut list) in slices.into_iter().enumerate() {
            if form.reverse {
                list.reverse();
            }
            let ty = op.result_tensor(i).ok_or_else(|| EvalError::new("a result is not a tensor"))?;
            let inner = list.first().map_or_else(|| without(&ty.shape, form.dim), |l| l.shape.clone());
            let shape = with(&inner, form.dim, size);
            let value = |at: Shape| {
                let from = &list[at[form.dim] as usize];
                from.get(from.position(&without(&at, form.dim)))
            };
            results.push(Literal::from_scalars(ty.element, &shape, Indices::of(&shape).map(value)));
        }
        results.extend(carried);
        Ok(results)
    }

    /// Builds a loop over a counter, the outputs so far and the carried values.
    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let form = Self::check(view).ok().filter(|_| is_static(view))?;
        let (inputs, inits) = view.operands().split_at(form.inputs);
        let (inputs, inits) = (inputs.to_vec(), inits.to_vec());
        let block = view.block(0)?;
        let buffers: Vec<TensorType> =
            (0..form.outputs).map(|i| view.result_tensor(i).cloned()).collect::<Option<_>>()?;
        let mut start = vec![build::index(b, 0)];
        for ty in &buffers {
            start.push(build::splat(b, ty.element, &ty.shape, Scalar::zero(ty.element)));
        }
        start.extend(inits);
        let types: Vec<_> = start.iter().map(|&v| b.program.value_type(v)).collect();
        let condition = b.region(&types, |b, args| {
            let end = build::index(b, form.size);
            let more = build::compare(b, Comparison::Lt, args[0], end);
            b.op(&RETURN, &[more], &[], &[]);
        });
        let body = b.region(&types, |b, args| {
            let zero = build::index(b, 0);
            let last = build::index(b, form.size - 1);
            let at = if form.reverse { build::subtract(b, last, args[0]) } else { args[0] };
            let starts =
                |rank: usize| -> Vec<Value> { (0..rank).map(|d| if d == form.dim { at } else { zero }).collect() };
            let mut given = Vec::new();
            for &input in &inputs {
                let shape = b.tensor(input).shape.clone();
                let mut sizes = shape.clone();
                sizes[form.dim] = 1;
                let slice = build::shape::dynamic_slice(b, input, &starts(shape.len()), &sizes);
                given.push(build::shape::reshape(b, slice, &without(&shape, form.dim)));
            }
            let (done, carried) = args[1..].split_at(form.outputs);
            given.extend(carried);
            let mut renaming = Renaming::default();
            renaming.values.extend(b.program.block_args(block).to_vec().into_iter().zip(given));
            let inside = b.program.block_ops(block).to_vec();
            let Some((&end, rest)) = inside.split_last() else { return };
            for &inner in rest {
                let copy = b.program.clone_op(inner, &mut renaming);
                b.ops.push(copy);
            }
            let mut values: Vec<Value> = b.program.op(end).operands.iter().map(|&v| renaming.value(v)).collect();
            for (value, &buffer) in values.iter_mut().zip(done) {
                let (inner, rank) = (b.tensor(*value).shape.clone(), b.tensor(buffer).rank());
                let piece = build::shape::reshape(b, *value, &with(&inner, form.dim, 1));
                *value = build::shape::dynamic_update_slice(b, buffer, piece, &starts(rank));
            }
            let one = build::index(b, 1);
            values.insert(0, build::add(b, args[0], one));
            b.op(&RETURN, &values, &[], &[]);
        });
        let op = b.raw(&While, While.name(), &start, &types, &[], &[condition, body]);
        Some(b.program.results(op).skip(1).collect())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xi32>, %i: tensor<2xi32>) %r:2 = chlo.scan(%a) inits (%i) dimension=1 attributes {is_reverse = true} {
            ^bb0(%x: tensor<2xi32>, %c: tensor<2xi32>):
              %s = stablehlo.add %x, %c : tensor<2xi32>
              stablehlo.return %s, %s : tensor<2xi32>, tensor<2xi32>
            } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)",
            "(%a: tensor<4xf32>, %b: tensor<4xi32>, %i: tensor<f32>) %r:3 = chlo.scan(%a, %b) inits (%i) dimension=0 {
            ^bb0(%x: tensor<f32>, %n: tensor<i32>, %c: tensor<f32>):
              %s = stablehlo.maximum %x, %c : tensor<f32>
              stablehlo.return %s, %n, %s : tensor<f32>, tensor<i32>, tensor<f32>
            } : (tensor<4xf32>, tensor<4xi32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<f32>)",
        ]
    }

    fn isolated(&self) -> bool {
        true
    }
}

/// Returns slice `at` along `dim`, without that dimension.
fn slice(literal: &Literal, dim: usize, at: i64) -> Literal {
    let shape = without(&literal.shape, dim);
    let value = |inner: Shape| literal.get(literal.position(&with(&inner, dim, at)));
    Literal::from_scalars(literal.element, &shape, Indices::of(&shape).map(value))
}
