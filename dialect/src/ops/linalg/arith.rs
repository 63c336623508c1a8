//! The arithmetic of MLIR's dialects `arith` and `math`, on scalars in the bodies of structured ops and on whole
//! tensors. In MLIR the ops have a sign, not the integers: an op on unsigned integers is computed on the same bits in
//! an unsigned type. Source: MLIR's documentation of the dialects.

use smallvec::SmallVec;

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::{AttrData, ElementType, OpRef, Shape, Ty, TypeData, Value};
use crate::kernel::{Arg, Body, Input, Inst, Kernel, Nest};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::stablehlo::elementwise::known;
use crate::ops::support::constraint::{operand_count, require};
use crate::scalar::{Comparison, Scalar, ScalarOp};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax};

/// The syntax of an op's types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeSyntax {
    /// `%a, %b : T`
    Same,
    /// `%a : T to U`
    Cast,
    /// `olt, %a, %b : T`, with a result of `i1`.
    Compare(&'static [(&'static str, Test)]),
    /// `%c, %a, %b : T`, or `: C, T`.
    Select,
}

/// An op on one element of each operand.
pub(super) struct Arith {
    name: &'static str,
    arity: usize,
    form: TypeSyntax,
    meaning: Meaning,
    examples: &'static [&'static str],
}

/// The computation of an op.
enum Meaning {
    /// This operation on operands of the given type; `None` if this crate has no such operation.
    Of(fn(ElementType) -> Option<ScalarOp>),
    /// This operation on the same bits as unsigned integers; the result's bits become the result type again.
    Unsigned(ScalarOp),
    /// The lowest bits of the operand.
    LowBits,
    /// The test of its predicate.
    Test,
}

/// The test of two numbers by a predicate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// A comparison, which is false for NaN unless it is `!=`.
    Is(Comparison),
    /// The negation of a comparison.
    IsNot(Comparison),
    /// A comparison of the same bits as unsigned integers.
    Unsigned(Comparison),
    /// Whether one number is less than the other (`true`), or neither is (`false`).
    Differ(bool),
    /// Whether neither number is NaN (`true`), or one is (`false`).
    Numbers(bool),
    Always(bool),
}

/// The predicates of `arith.cmpf` by number: for NaN, those with `u` are true.
const FLOAT_PREDICATES: &[(&str, Test)] = &[
    ("false", Test::Always(false)),
    ("oeq", Test::Is(Comparison::Eq)),
    ("ogt", Test::Is(Comparison::Gt)),
    ("oge", Test::Is(Comparison::Ge)),
    ("olt", Test::Is(Comparison::Lt)),
    ("ole", Test::Is(Comparison::Le)),
    ("one", Test::Differ(true)),
    ("ord", Test::Numbers(true)),
    ("ueq", Test::Differ(false)),
    ("ugt", Test::IsNot(Comparison::Le)),
    ("uge", Test::IsNot(Comparison::Lt)),
    ("ult", Test::IsNot(Comparison::Ge)),
    ("ule", Test::IsNot(Comparison::Gt)),
    ("une", Test::Is(Comparison::Ne)),
    ("uno", Test::Numbers(false)),
    ("true", Test::Always(true)),
];

/// The predicates of `arith.cmpi` by number.
const INTEGER_PREDICATES: &[(&str, Test)] = &[
    ("eq", Test::Is(Comparison::Eq)),
    ("ne", Test::Is(Comparison::Ne)),
    ("slt", Test::Is(Comparison::Lt)),
    ("sle", Test::Is(Comparison::Le)),
    ("sgt", Test::Is(Comparison::Gt)),
    ("sge", Test::Is(Comparison::Ge)),
    ("ult", Test::Unsigned(Comparison::Lt)),
    ("ule", Test::Unsigned(Comparison::Le)),
    ("ugt", Test::Unsigned(Comparison::Gt)),
    ("uge", Test::Unsigned(Comparison::Ge)),
];

/// Attributes between operands and types: `fastmath<contract>`.
const FLAGS: [(&str, &str); 2] = [("fastmath", "fastmath"), ("overflow", "overflowFlags")];
/// The attribute that a division has no remainder: `exact`.
const EXACT: (&str, &str) = ("exact", "isExact");
const PREDICATE: &str = "predicate";

/// An example with elements of one type, or of different types for operand and result.
macro_rules! example {
    ($name:literal, 1, $e:literal) => {
        concat!("(%a: tensor<2x4x", $e, ">) %r = ", $name, " %a : tensor<2x4x", $e, ">")
    };
    ($name:literal, 2, $e:literal) => {
        concat!("(%a: tensor<4x6x", $e, ">, %b: tensor<4x6x", $e, ">) %r = ", $name, " %a, %b : tensor<4x6x", $e, ">")
    };
    ($name:literal, 1, $e:literal => $r:literal) => {
        concat!("(%a: tensor<2x4x", $e, ">) %r = ", $name, " %a : tensor<2x4x", $e, "> to tensor<2x4x", $r, ">")
    };
}

macro_rules! rows {
    ($($id:ident $name:literal $arity:tt $form:expr, $op:expr, [$($e:literal $(=> $r:literal)?),*] $($example:literal)?;)*) => {
        $(static $id: Arith = Arith {
            name: $name,
            arity: $arity,
            form: $form,
            meaning: $op,
            examples: &[$(example!($name, $arity, $e $(=> $r)?),)* $($example)?],
        };)*
        /// The ops of this family.
        pub(super) static OPS: &[&dyn OpDef] = &[$(&$id),*];
        static ROWS: &[&Arith] = &[$(&$id),*];
    };
}

/// The same operation on all types.
macro_rules! is {
    ($op:ident) => {
        Meaning::Of(|_| Some(ScalarOp::$op))
    };
}

/// An operation on integers, and the equivalent operation on single bits, of which the set bit is -1.
macro_rules! int {
    ($op:ident) => {
        Meaning::Of(|ty| (ty != ElementType::I1).then_some(ScalarOp::$op))
    };
    ($op:ident, $bit:ident) => {
        Meaning::Of(|ty| Some(if ty == ElementType::I1 { ScalarOp::$bit } else { ScalarOp::$op }))
    };
}

/// An operation on unsigned integers.
macro_rules! unsigned {
    ($op:ident) => {
        Meaning::Unsigned(ScalarOp::$op)
    };
}

rows! {
    ADDF "arith.addf" 2 TypeSyntax::Same, is!(Add), ["f32", "f64"];
    SUBF "arith.subf" 2 TypeSyntax::Same, is!(Sub), ["f32"];
    MULF "arith.mulf" 2 TypeSyntax::Same, is!(Mul), ["bf16"];
    DIVF "arith.divf" 2 TypeSyntax::Same, is!(Div), ["f32"];
    REMF "arith.remf" 2 TypeSyntax::Same, is!(Rem), ["f32"];
    NEGF "arith.negf" 1 TypeSyntax::Same, is!(Neg), ["f32"];
    MAXIMUMF "arith.maximumf" 2 TypeSyntax::Same, is!(Max), ["f32"];
    MINIMUMF "arith.minimumf" 2 TypeSyntax::Same, is!(Min), ["f32"];
    ANDI "arith.andi" 2 TypeSyntax::Same, is!(And), ["i1", "i32"];
    ORI "arith.ori" 2 TypeSyntax::Same, is!(Or), ["i1"];
    XORI "arith.xori" 2 TypeSyntax::Same, is!(Xor), ["i32"];
    ADDI "arith.addi" 2 TypeSyntax::Same, int!(Add, Xor), ["i32", "i1"];
    SUBI "arith.subi" 2 TypeSyntax::Same, int!(Sub, Xor), ["i32"];
    DIVUI "arith.divui" 2 TypeSyntax::Same, unsigned!(Div), ["i32"];
    REMUI "arith.remui" 2 TypeSyntax::Same, unsigned!(Rem), ["i32"];
    MULI "arith.muli" 2 TypeSyntax::Same, int!(Mul, And), ["i32"];
    DIVSI "arith.divsi" 2 TypeSyntax::Same, int!(Div), ["i32"];
    REMSI "arith.remsi" 2 TypeSyntax::Same, int!(Rem), ["i32"];
    MAXSI "arith.maxsi" 2 TypeSyntax::Same, int!(Max, And), ["i32"];
    MINSI "arith.minsi" 2 TypeSyntax::Same, int!(Min, Or), ["i32", "i1"];
    MAXUI "arith.maxui" 2 TypeSyntax::Same, unsigned!(Max), ["i1", "i32"];
    MINUI "arith.minui" 2 TypeSyntax::Same, unsigned!(Min), ["i1", "i8"];
    SHLI "arith.shli" 2 TypeSyntax::Same, int!(Shl), ["i32"];
    SHRSI "arith.shrsi" 2 TypeSyntax::Same, int!(ShrArithmetic), ["i32"];
    SHRUI "arith.shrui" 2 TypeSyntax::Same, int!(ShrLogical), ["i32"];
    CMPF "arith.cmpf" 2 TypeSyntax::Compare(FLOAT_PREDICATES), Meaning::Test, [] "(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) %r = arith.cmpf olt, %a, %b : tensor<2x4xf32>";
    CMPI "arith.cmpi" 2 TypeSyntax::Compare(INTEGER_PREDICATES), Meaning::Test, [] "(%a: tensor<2x4xi32>, %b: tensor<2x4xi32>) %r = arith.cmpi sge, %a, %b : tensor<2x4xi32>";
    SELECT "arith.select" 3 TypeSyntax::Select, is!(Select), [] "(%c: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>) %r = arith.select %c, %a, %b : tensor<4xi1>, tensor<4xf32>";
    EXTF "arith.extf" 1 TypeSyntax::Cast, is!(Convert), ["f16" => "f32"];
    TRUNCF "arith.truncf" 1 TypeSyntax::Cast, is!(Convert), ["f32" => "bf16"];
    EXTSI "arith.extsi" 1 TypeSyntax::Cast, int!(Convert), ["i8" => "i32"];
    EXTUI "arith.extui" 1 TypeSyntax::Cast, unsigned!(Convert), ["i1" => "i32", "i8" => "i32"];
    TRUNCI "arith.trunci" 1 TypeSyntax::Cast, Meaning::LowBits, ["i32" => "i8", "i32" => "i1"];
    SITOFP "arith.sitofp" 1 TypeSyntax::Cast, int!(Convert), ["i32" => "f32"];
    UITOFP "arith.uitofp" 1 TypeSyntax::Cast, unsigned!(Convert), ["i1" => "f32", "i8" => "f32"];
    FPTOSI "arith.fptosi" 1 TypeSyntax::Cast, is!(Convert), ["f32" => "i32"];
    FPTOUI "arith.fptoui" 1 TypeSyntax::Cast, unsigned!(Convert), ["f32" => "i32"];
    INDEX_CAST "arith.index_cast" 1 TypeSyntax::Cast, int!(Convert), ["index" => "i64"];
    INDEX_CASTUI "arith.index_castui" 1 TypeSyntax::Cast, unsigned!(Convert), ["i8" => "index"];
    BITCAST "arith.bitcast" 1 TypeSyntax::Cast, is!(Bitcast), ["i32" => "f32"];
    ABSF "math.absf" 1 TypeSyntax::Same, is!(Abs), ["f32"];
    ABSI "math.absi" 1 TypeSyntax::Same, int!(Abs), ["i32"];
    ATAN2 "math.atan2" 2 TypeSyntax::Same, is!(Atan2), ["f32"];
    CBRT "math.cbrt" 1 TypeSyntax::Same, is!(Cbrt), ["f32"];
    CEIL "math.ceil" 1 TypeSyntax::Same, is!(Ceil), ["f32"];
    COS "math.cos" 1 TypeSyntax::Same, is!(Cos), ["f32"];
    CTLZ "math.ctlz" 1 TypeSyntax::Same, int!(Clz), ["i32"];
    CTPOP "math.ctpop" 1 TypeSyntax::Same, int!(Popcnt), ["i32"];
    EXP "math.exp" 1 TypeSyntax::Same, is!(Exp), ["f32"];
    EXPM1 "math.expm1" 1 TypeSyntax::Same, is!(Expm1), ["f32"];
    FLOOR "math.floor" 1 TypeSyntax::Same, is!(Floor), ["f32"];
    ISFINITE "math.isfinite" 1 TypeSyntax::Compare(&[]), is!(IsFinite), ["f32"];
    LOG "math.log" 1 TypeSyntax::Same, is!(Log), ["f32"];
    LOG1P "math.log1p" 1 TypeSyntax::Same, is!(Log1p), ["f32"];
    POWF "math.powf" 2 TypeSyntax::Same, is!(Pow), ["f32"];
    ROUND "math.round" 1 TypeSyntax::Same, is!(RoundAfz), ["f32"];
    ROUNDEVEN "math.roundeven" 1 TypeSyntax::Same, is!(RoundEven), ["f32"];
    RSQRT "math.rsqrt" 1 TypeSyntax::Same, is!(Rsqrt), ["f32"];
    SIN "math.sin" 1 TypeSyntax::Same, is!(Sin), ["f32"];
    SQRT "math.sqrt" 1 TypeSyntax::Same, is!(Sqrt), ["f32"];
    TAN "math.tan" 1 TypeSyntax::Same, is!(Tan), ["f32"];
    TANH "math.tanh" 1 TypeSyntax::Same, is!(Tanh), ["f32"];
}

/// Returns the op that computes `op` on elements of this type.
pub(super) fn of_scalar(op: ScalarOp, ty: ElementType) -> Option<&'static Arith> {
    let kind = |name: &str| match ty {
        ElementType::I1 => name.ends_with("ui") || name.ends_with('i') && !name.ends_with("si"),
        _ if ty.is_float() => name.ends_with('f') || name.starts_with("math."),
        _ => name.ends_with('i'),
    };
    let computes = |row: &Arith| match row.meaning {
        Meaning::Of(of) => of(ty) == Some(op),
        Meaning::Unsigned(of) => ty == ElementType::I1 && of == op,
        Meaning::LowBits | Meaning::Test => false,
    };
    ROWS.iter().copied().find(|row| row.form == TypeSyntax::Same && computes(row) && kind(row.name))
}

/// Returns the operation of a named structured op on single bits: sums are "or", products are "and".
pub(super) fn of_element(op: ScalarOp, ty: ElementType) -> ScalarOp {
    match (op, ty) {
        (ScalarOp::Add, ElementType::I1) => ScalarOp::Or,
        (ScalarOp::Mul, ElementType::I1) => ScalarOp::And,
        _ => op,
    }
}

/// Returns the unsigned type of the same width; for single bits, the same type.
fn without_sign(ty: ElementType) -> Option<ElementType> {
    use ElementType::{I1, I2, I4, I8, I16, I32, I64, Index, UI2, UI4, UI8, UI16, UI32, UI64};
    Some(match ty {
        I1 => I1,
        I2 => UI2,
        I4 => UI4,
        I8 => UI8,
        I16 => UI16,
        I32 => UI32,
        I64 | Index => UI64,
        _ => return None,
    })
}

/// Returns the op called `name`.
pub(super) fn of_name(name: &str) -> Option<&'static Arith> {
    ROWS.iter().copied().find(|row| row.name == name)
}

/// Returns the element type and the shape of a scalar or tensor.
pub(super) fn element(op: OpRef<'_>, value: Value) -> Option<(ElementType, Shape)> {
    match op.program.type_data(op.program.value_type(value)) {
        TypeData::Scalar(element) => Some((*element, Shape::new())),
        TypeData::Tensor(ty) => Some((ty.element, ty.shape.clone())),
        _ => None,
    }
}

impl Arith {
    /// Returns whether it has this number of operands.
    pub(super) fn takes(&self, operands: usize) -> bool {
        self.arity == operands
    }

    /// Returns the body from operands with elements of types `inputs` to a result of type `ty`.
    fn body(&self, op: OpRef<'_>, inputs: &[ElementType], ty: ElementType) -> Option<Body> {
        let mut b = Body { inputs: inputs.to_vec(), ..Body::default() };
        let args: SmallVec<[Arg; 3]> = (0..inputs.len()).map(Arg::Input).collect();
        let &from = inputs.first()?;
        let result = match self.meaning {
            Meaning::Of(of) => b.op(of(from)?, &args, ty),
            Meaning::Unsigned(scalar) => {
                let bits = from == ElementType::I1;
                if bits && matches!(scalar, ScalarOp::Div | ScalarOp::Rem) || !bits && ty == ElementType::I1 {
                    return None;
                }
                let args = without_signs(&mut b, &args)?;
                let unsigned = if bits || ty.is_float() { ty } else { without_sign(ty)? };
                let result = b.op(scalar, &args, unsigned);
                of_type(&mut b, result, ty)
            }
            Meaning::LowBits if ty == ElementType::I1 => {
                let one = b.push(Inst::Const(Scalar::Int(1), from));
                let low = b.op(ScalarOp::And, &[args[0], one], from);
                b.op(ScalarOp::Convert, &[low], ty)
            }
            Meaning::LowBits => b.op(ScalarOp::Convert, &args, ty),
            Meaning::Test => {
                let TypeSyntax::Compare(predicates) = self.form else { return None };
                let (_, is) = predicates.get(usize::try_from(op.int(PREDICATE)?).ok()?)?;
                test(&mut b, *is, args[0], *args.get(1)?)?
            }
        };
        b.results = vec![result];
        Some(b)
    }

    fn nest(&self, op: OpRef<'_>) -> Option<Nest> {
        let (ty, shape) = element(op, op.results().next()?)?;
        let operands: Vec<(ElementType, Shape)> =
            op.operands().iter().map(|&v| element(op, v)).collect::<Option<_>>()?;
        let alike = |o: &(ElementType, Shape)| o.1 == shape || o.1.is_empty() && self.form == TypeSyntax::Select;
        if shape.iter().any(|&d| d < 0) || !operands.iter().all(alike) {
            return None;
        }
        let inputs = operands.iter().enumerate().map(|(i, o)| Input::at(i, 0..o.1.len())).collect();
        let types: Vec<ElementType> = operands.iter().map(|o| o.0).collect();
        let body = self.body(op, &types, ty)?;
        known(&body).then(|| Nest::over(&shape, inputs, body))
    }
}

/// Reinterprets the bits as another type of the same width.
fn of_type(b: &mut Body, arg: Arg, ty: ElementType) -> Arg {
    if b.arg_type(arg) == ty { arg } else { b.op(ScalarOp::Bitcast, &[arg], ty) }
}

fn without_signs(b: &mut Body, args: &[Arg]) -> Option<SmallVec<[Arg; 3]>> {
    // Floats stay; only the result becomes unsigned.
    let unsigned = |ty: ElementType| if ty.is_float() { Some(ty) } else { without_sign(ty) };
    args.iter().map(|&arg| unsigned(b.arg_type(arg)).map(|ty| of_type(b, arg, ty))).collect()
}

/// Builds the test of two numbers.
fn test(b: &mut Body, test: Test, x: Arg, y: Arg) -> Option<Arg> {
    let truth = ElementType::I1;
    let bits = b.arg_type(x) == truth;
    let mut compare = |c: Comparison, x: Arg, y: Arg| b.op(ScalarOp::Compare(c), &[x, y], truth);
    let (found, wanted) = match test {
        // The set bit is -1, the smaller of the two.
        Test::Is(c) if bits => (compare(c, y, x), true),
        Test::Is(c) => (compare(c, x, y), true),
        Test::IsNot(c) => (compare(c, x, y), false),
        Test::Unsigned(c) => {
            let args = without_signs(b, &[x, y])?;
            (b.op(ScalarOp::Compare(c), &args, truth), true)
        }
        Test::Differ(wanted) => {
            let sides = [compare(Comparison::Lt, x, y), compare(Comparison::Gt, x, y)];
            (b.op(ScalarOp::Or, &sides, truth), wanted)
        }
        Test::Numbers(wanted) => {
            let numbers = [compare(Comparison::Eq, x, x), compare(Comparison::Eq, y, y)];
            (b.op(ScalarOp::And, &numbers, truth), wanted)
        }
        Test::Always(is) => (b.push(Inst::Const(Scalar::Int(i128::from(is)), truth)), true),
    };
    Some(if wanted { found } else { b.op(ScalarOp::Not, &[found], truth) })
}

impl OpDef for Arith {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(match self.form {
            TypeSyntax::Same => &CustomSyntax { parse: parse_same, print: print_same },
            TypeSyntax::Cast => &CustomSyntax { parse: parse_cast, print: print_cast },
            TypeSyntax::Compare([]) => &CustomSyntax { parse: parse_test, print: print_same },
            TypeSyntax::Compare(FLOAT_PREDICATES) => &CustomSyntax { parse: parse_float, print: print_float },
            TypeSyntax::Compare(_) => &CustomSyntax { parse: parse_integer, print: print_integer },
            TypeSyntax::Select => &CustomSyntax { parse: parse_select, print: print_select },
        })
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, self.arity)?;
        require!(op.result_count() == 1, "'{}' has one result", self.name);
        let types: Vec<&TypeData> = op.operand_types().collect();
        let result = op.result_types().next().ok_or_else(|| Problem::new("expected a result"))?;
        let (from, same) = match self.form {
            TypeSyntax::Same => (0, true),
            TypeSyntax::Select => (1, true),
            _ => (0, false),
        };
        for (i, ty) in types.iter().enumerate().skip(from) {
            require!(*ty == types[from], operand = i, "expected the type of the previous operand");
        }
        require!(!same || result == types[from], "expected the result to have the operands' type");
        Ok(vec![result.clone()])
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        self.nest(op).map_or(Kernel::None, Kernel::Nest)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let nest = self.nest(op).ok_or_else(|| EvalError::new(format!("'{}' is not supported", self.name)))?;
        Ok(nest.eval(operands))
    }

    fn elementwise(&self) -> bool {
        true
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }
}

// Text ---------------------------------------------------------------------------------------------------------

fn parse_head(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    p.operands(op)?;
    while let Some(&(word, name)) = FLAGS.iter().find(|flag| p.at(flag.0)) {
        p.advance();
        let words = p.list("<", ">", |p| p.word().map(str::to_owned))?;
        let attr = p.program.intern_attr(AttrData::Opaque(format!("#arith.{word}<{}>", words.join(", ")).into()));
        op.set(&mut p.program, name, attr);
    }
    if p.eat(EXACT.0) {
        op.set_data(&mut p.program, EXACT.1, AttrData::Unit);
    }
    p.attr_dict(op)?;
    p.expect(":")
}

fn print_head(p: &mut Printer<'_>, op: OpRef<'_>) {
    p.text(" ");
    p.values(op.operands());
    let mut written = vec![PREDICATE];
    for (word, name) in FLAGS {
        if let Some(AttrData::Opaque(text)) = op.attr(name)
            && let Some(flags) = text.strip_prefix("#arith.").filter(|text| text.starts_with(word))
        {
            p.text(&format!(" {flags}"));
            written.push(name);
        }
    }
    if op.attr(EXACT.1) == Some(&AttrData::Unit) {
        p.text(&format!(" {}", EXACT.0));
        written.push(EXACT.1);
    }
    p.attr_dict(op, &written);
    p.text(" : ");
}

fn parse_same(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_head(p, op)?;
    let ty = p.ty()?;
    op.results.push(ty);
    p.check_operands(op, &vec![ty; op.operands.len()])
}

fn print_same(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let Some(&first) = op.operands().first() else { return false };
    print_head(p, op);
    p.ty(op.program.value_type(first));
    true
}

fn parse_cast(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_head(p, op)?;
    let from = p.ty()?;
    p.expect("to")?;
    let to = p.ty()?;
    op.results.push(to);
    p.check_operands(op, &[from])
}

fn print_cast(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (&[operand], &[result]) = (op.operands(), &op.result_type_ids()[..]) else { return false };
    print_head(p, op);
    p.ty(op.program.value_type(operand));
    p.text(" to ");
    p.ty(result);
    true
}

/// Returns the type of truth values in the shape of `ty`.
fn truths(p: &mut Parser<'_>, ty: Ty) -> Ty {
    match p.program.type_data(ty).clone() {
        TypeData::Tensor(tensor) => p.program.intern_type(tensor.with_element(ElementType::I1)),
        _ => p.program.intern_type(TypeData::Scalar(ElementType::I1)),
    }
}

fn parse_test(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_head(p, op)?;
    let ty = p.ty()?;
    let result = truths(p, ty);
    op.results.push(result);
    p.check_operands(op, &vec![ty; op.operands.len()])
}

fn parse_compare(p: &mut Parser<'_>, op: &mut ParsedOp, of: &[(&str, Test)]) -> Parse<()> {
    let Some(number) = of.iter().position(|row| p.at(row.0)) else {
        let words: Vec<&str> = of.iter().map(|row| row.0).collect();
        return p.fail_expected(&format!("one of {}", words.join(", ")));
    };
    p.advance();
    p.expect(",")?;
    let attr = p.program.attr_i64(number as i64);
    op.set(&mut p.program, PREDICATE, attr);
    parse_test(p, op)
}

fn print_compare(p: &mut Printer<'_>, op: OpRef<'_>, of: &[(&str, Test)]) -> bool {
    let word = op.int(PREDICATE).and_then(|n| of.get(usize::try_from(n).ok()?));
    let (Some(word), Some(&first)) = (word, op.operands().first()) else { return false };
    p.text(&format!(" {},", word.0));
    print_head(p, op);
    p.ty(op.program.value_type(first));
    true
}

fn parse_float(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_compare(p, op, FLOAT_PREDICATES)
}

fn print_float(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    print_compare(p, op, FLOAT_PREDICATES)
}

fn parse_integer(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_compare(p, op, INTEGER_PREDICATES)
}

fn print_integer(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    print_compare(p, op, INTEGER_PREDICATES)
}

fn parse_select(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    parse_head(p, op)?;
    let first = p.ty()?;
    let (condition, ty) = match p.eat(",") {
        true => (first, p.ty()?),
        false => (p.program.intern_type(TypeData::Scalar(ElementType::I1)), first),
    };
    op.results.push(ty);
    p.check_operands(op, &[condition, ty, ty])
}

fn print_select(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    let (&[condition, first, _], &[result]) = (op.operands(), &op.result_type_ids()[..]) else { return false };
    if op.program.value_type(first) != result {
        return false;
    }
    let condition = op.program.value_type(condition);
    print_head(p, op);
    if !matches!(op.program.type_data(condition), TypeData::Scalar(_)) {
        p.ty(condition);
        p.text(", ");
    }
    p.ty(result);
    true
}
