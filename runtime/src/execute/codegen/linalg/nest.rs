//! Writes loop nests as `linalg.generic`: inputs that are read at loop positions are operands, all others are extracted
//! inside.

use dialect::diagnostic::Diagnostic;
use dialect::ir::{ElementClass, ElementType, OpRef, TensorType};
use dialect::kernel::{Arg, Body, Guard, Index, Init, Input, Inst, Nest, Outside};
use dialect::scalar::{Scalar, ScalarOp};

use super::{Emitter, element, shaped};
use crate::execute::codegen::arith::{self, Write};
use crate::execute::codegen::{is_narrow, register};

/// The operands of a `linalg.generic` that are inputs, and the parameters of its body.
#[derive(Default)]
struct Operands {
    names: Vec<String>,
    types: Vec<String>,
    /// The affine maps of the inputs, then those of the results.
    maps: Vec<String>,
    /// The parameters of the inputs and of the accumulators, with their types.
    params: Vec<String>,
    /// For each input of the nest, its parameter if it is read at loop positions.
    loaded: Vec<Option<String>>,
    accumulators: Vec<String>,
}

impl Emitter<'_> {
    pub(super) fn nest(&mut self, op: OpRef<'_>, nest: &Nest) -> Result<(), Diagnostic> {
        let reduces = nest.parallel < nest.loops.len();
        let shape = &nest.loops[..nest.parallel];
        let types: Vec<&TensorType> = (0..op.result_count()).filter_map(|i| op.result_tensor(i)).collect();
        // Narrow floats are summed in f32.
        let held: Vec<&'static str> = types
            .iter()
            .map(|t| if reduces && is_narrow(t.element) { Some("f32") } else { element(t.element) })
            .collect::<Option<_>>()
            .ok_or_else(|| self.refused(op, "gives elements that upstream MLIR lacks"))?;
        for &operand in op.operands() {
            self.ty(operand, op.op)?;
        }
        let out_types: Vec<String> = held.iter().map(|held| shaped(shape, held)).collect();
        let mut outs = Vec::new();
        for (i, (held, ty)) in held.iter().zip(&out_types).enumerate() {
            let empty = self.value(&format!("tensor.empty() : {ty}"));
            outs.push(match nest.init.get(i) {
                Some(init) if reduces => {
                    let init = self.init(op, init, types[i].element);
                    self.value(&format!("linalg.fill ins({init} : {held}) outs({empty} : {ty}) -> {ty}"))
                }
                _ => empty,
            });
        }
        let operands = self.operands(op, nest, &held)?;
        let iterators: Vec<&str> =
            (0..nest.loops.len()).map(|l| if l < nest.parallel { "\"parallel\"" } else { "\"reduction\"" }).collect();
        let list = |names: &[String], types: &[String]| format!("({} : {})", names.join(", "), types.join(", "));
        let reads = match operands.names.is_empty() {
            true => String::new(),
            false => format!(" ins{}", list(&operands.names, &operands.types)),
        };
        let made = self.fresh();
        let count = if held.len() == 1 { String::new() } else { format!(":{}", held.len()) };
        self.line(&format!(
            "{made}{count} = linalg.generic {{indexing_maps = [{}], iterator_types = [{}]}}{reads} outs{} {{",
            operands.maps.join(", "),
            iterators.join(", "),
            list(&outs, &out_types)
        ));
        self.line(&format!("^bb0({}):", operands.params.join(", ")));
        self.indent += 1;
        let given = self.results_of_body(op, nest, &operands)?;
        let mut yielded = Vec::new();
        for (value, ty) in given.into_iter().zip(&types) {
            let narrow = is_narrow(ty.element) && !reduces;
            yielded.push(if narrow { self.narrowed(&value, ty.element) } else { value });
        }
        self.line(&format!("linalg.yield {} : {}", yielded.join(", "), held.join(", ")));
        self.indent -= 1;
        self.line(&format!(
            "}} -> {}",
            if held.len() == 1 { out_types[0].clone() } else { format!("({})", out_types.join(", ")) }
        ));
        for (i, value) in op.results().enumerate() {
            let name = if held.len() == 1 { made.clone() } else { format!("{made}#{i}") };
            let name = match reduces && is_narrow(types[i].element) {
                true => self.rounded(&name, shape, types[i].element),
                false => name,
            };
            self.names.insert(value, name);
        }
        Ok(())
    }

    /// Returns the operands for the inputs that are read at loop positions, and for results of these types.
    fn operands(&mut self, op: OpRef<'_>, nest: &Nest, held: &[&str]) -> Result<Operands, Diagnostic> {
        let mut all = Operands::default();
        let mut covered: Vec<bool> = (0..nest.loops.len()).map(|l| l < nest.parallel).collect();
        for (input, &ty) in nest.inputs.iter().zip(&nest.body.inputs) {
            let Some(dims) = at_loops(op, nest, input) else {
                all.loaded.push(None);
                continue;
            };
            let value = op.operands()[input.operand];
            all.names.push(self.name(value));
            all.types.push(self.ty(value, op.op)?);
            let name = self.fresh();
            all.params.push(format!("{name}: {}", element(ty).unwrap_or("i8")));
            all.loaded.push(Some(name));
            all.maps.push(map(nest.loops.len(), &dims));
            dims.iter().for_each(|&l| covered[l] = true);
        }
        // The trip counts of loops that no operand's size determines.
        let free: Vec<usize> = (0..covered.len()).filter(|&l| !covered[l]).collect();
        if !free.is_empty() {
            let ty = shaped(&free.iter().map(|&l| nest.loops[l]).collect::<Vec<_>>(), "i1");
            all.names.push(self.value(&format!("tensor.empty() : {ty}")));
            all.types.push(ty);
            all.params.push(format!("{}: i1", self.fresh()));
            all.maps.push(map(nest.loops.len(), &free));
        }
        for held in held {
            let name = self.fresh();
            all.params.push(format!("{name}: {held}"));
            all.accumulators.push(name);
            all.maps.push(map(nest.loops.len(), &(0..nest.parallel).collect::<Vec<_>>()));
        }
        Ok(all)
    }

    /// Writes the body of a nest, and returns its results.
    fn results_of_body(&mut self, op: OpRef<'_>, nest: &Nest, operands: &Operands) -> Result<Vec<String>, Diagnostic> {
        let needs_positions = operands.loaded.iter().any(Option::is_none)
            || nest.body.insts.iter().any(|inst| matches!(inst, Inst::Index(..)));
        let loops: Vec<String> = match needs_positions {
            true => (0..nest.loops.len()).map(|l| self.value(&format!("linalg.index {l} : index"))).collect(),
            false => Vec::new(),
        };
        let mut read = Vec::new();
        for ((input, &ty), loaded) in nest.inputs.iter().zip(&nest.body.inputs).zip(&operands.loaded) {
            read.push(match loaded {
                Some(name) => self.widened(name, ty),
                None => self.extracted(op, input, ty, &loops)?,
            });
        }
        Ok(self.body(op, &nest.body, &read, &operands.accumulators, &loops))
    }

    /// Returns the initial value of an accumulator.
    fn init(&mut self, op: OpRef<'_>, init: &Init, ty: ElementType) -> String {
        match init {
            Init::Const(value) => arith::constant(*value, ty, self),
            Init::Operand(i) => self.only(op, *i, ty),
        }
    }

    /// Returns the only element of a rank-0 operand.
    fn only(&mut self, op: OpRef<'_>, operand: usize, ty: ElementType) -> String {
        let name = self.name(op.operands()[operand]);
        let stored = element(ty).unwrap_or("i8");
        let v = self.value(&format!("tensor.extract {name}[] : tensor<{stored}>"));
        self.widened(&v, ty)
    }

    /// Widens an element to the type it is computed in.
    fn widened(&mut self, v: &str, ty: ElementType) -> String {
        if !is_narrow(ty) {
            return v.to_owned();
        }
        self.value(&format!("arith.extf {v} : {} to f32", element(ty).unwrap_or("bf16")))
    }

    fn narrowed(&mut self, v: &str, ty: ElementType) -> String {
        self.value(&format!("arith.truncf {v} : f32 to {}", element(ty).unwrap_or("bf16")))
    }

    /// Rounds a tensor of f32 to a narrower type.
    fn rounded(&mut self, name: &str, shape: &[i64], ty: ElementType) -> String {
        let (from, to) = (shaped(shape, "f32"), shaped(shape, element(ty).unwrap_or("bf16")));
        let empty = self.value(&format!("tensor.empty() : {to}"));
        let all = map(shape.len(), &(0..shape.len()).collect::<Vec<_>>());
        let (made, a, b) = (self.fresh(), self.fresh(), self.fresh());
        let iterators = vec!["\"parallel\""; shape.len()].join(", ");
        let low = element(ty).unwrap_or("bf16");
        self.line(&format!(
            "{made} = linalg.generic {{indexing_maps = [{all}, {all}], iterator_types = [{iterators}]}} \
             ins({name} : {from}) outs({empty} : {to}) {{"
        ));
        self.line(&format!("^bb0({a}: f32, {b}: {low}):"));
        self.indent += 1;
        let v = self.narrowed(&a, ty);
        self.line(&format!("linalg.yield {v} : {low}"));
        self.indent -= 1;
        self.line(&format!("}} -> {to}"));
        made
    }

    /// Extracts an element that isn't read at plain loop positions. Where guards fail, the position may be out of
    /// bounds, so another element is read and not used.
    fn extracted(
        &mut self,
        op: OpRef<'_>,
        input: &Input,
        ty: ElementType,
        loops: &[String],
    ) -> Result<String, Diagnostic> {
        let outside = match &input.outside {
            Some(Outside::Const(value)) => Some(arith::constant(*value, ty, self)),
            Some(Outside::Operand(i)) => Some(self.only(op, *i, ty)),
            None => None,
        };
        let shape = op.operand_tensor(input.operand).map(|t| t.shape.to_vec()).unwrap_or_default();
        if let Some(outside) = &outside
            && shape.contains(&0)
        {
            return Ok(outside.clone());
        }
        let value = op.operands()[input.operand];
        let (name, full) = (self.name(value), self.ty(value, op.op)?);
        let mut at = Vec::new();
        for (index, &size) in input.index.iter().zip(&shape) {
            let mut v = self.index(op, index, loops);
            if !input.guards.is_empty() {
                let (low, high) = (self.number(0), self.number(size - 1));
                v = self.value(&format!("arith.maxsi {v}, {low} : index"));
                v = self.value(&format!("arith.minsi {v}, {high} : index"));
            }
            at.push(v);
        }
        let v = self.value(&format!("tensor.extract {name}[{}] : {full}", at.join(", ")));
        let v = self.widened(&v, ty);
        let Some(outside) = outside.filter(|_| !input.guards.is_empty()) else { return Ok(v) };
        let holds = self.guards(op, &input.guards, loops);
        Ok(self.value(&format!("arith.select {holds}, {v}, {outside} : {}", register(ty))))
    }

    /// Writes whether all guards hold.
    fn guards(&mut self, op: OpRef<'_>, guards: &[Guard], loops: &[String]) -> String {
        let mut all: Option<String> = None;
        for guard in guards {
            let v = self.index(op, &guard.index, loops);
            let (lo, hi) = (self.number(guard.lo), self.number(guard.hi));
            for test in [format!("sge, {v}, {lo}"), format!("slt, {v}, {hi}")] {
                let holds = self.value(&format!("arith.cmpi {test} : index"));
                all = Some(match all {
                    None => holds,
                    Some(before) => self.value(&format!("arith.andi {before}, {holds} : i1")),
                });
            }
        }
        all.unwrap_or_else(|| arith::constant(Scalar::Int(1), ElementType::I1, self))
    }

    fn number(&mut self, v: i64) -> String {
        self.value(&format!("arith.constant {v} : index"))
    }

    fn index(&mut self, op: OpRef<'_>, index: &Index, loops: &[String]) -> String {
        match index {
            Index::Loop(l) => loops[*l].clone(),
            Index::Const(c) => self.number(*c),
            Index::Add(a, b) => {
                let (a, b) = (self.index(op, a, loops), self.index(op, b, loops));
                self.value(&format!("arith.addi {a}, {b} : index"))
            }
            Index::Mul(a, by) => {
                let (a, by) = (self.index(op, a, loops), self.number(*by));
                self.value(&format!("arith.muli {a}, {by} : index"))
            }
            Index::FloorDiv(a, by) => {
                let (a, by) = (self.index(op, a, loops), self.number(*by));
                self.value(&format!("arith.floordivsi {a}, {by} : index"))
            }
            Index::Mod(a, by) => {
                let (a, by) = (self.index(op, a, loops), self.number(*by));
                let quotient = self.value(&format!("arith.floordivsi {a}, {by} : index"));
                let product = self.value(&format!("arith.muli {quotient}, {by} : index"));
                self.value(&format!("arith.subi {a}, {product} : index"))
            }
            Index::Clamp(a, lo, hi) => {
                let (a, lo, hi) = (self.index(op, a, loops), self.number(*lo), self.number(*hi));
                let v = self.value(&format!("arith.minsi {a}, {hi} : index"));
                self.value(&format!("arith.maxsi {v}, {lo} : index"))
            }
            Index::Load { operand, index } => {
                let at: Vec<String> = index.iter().map(|i| self.index(op, i, loops)).collect();
                let Some(ty) = op.operand_tensor(*operand).cloned() else { return self.number(0) };
                let name = self.name(op.operands()[*operand]);
                let stored = element(ty.element).unwrap_or("i64");
                let full = shaped(&ty.shape, stored);
                let v = self.value(&format!("tensor.extract {name}[{}] : {full}", at.join(", ")));
                let signed = ty.element.class() == ElementClass::Signed;
                let cast = if signed { "index_cast" } else { "index_castui" };
                self.value(&format!("arith.{cast} {v} : {stored} to index"))
            }
        }
    }

    /// Writes a body, and returns its results.
    fn body(
        &mut self,
        op: OpRef<'_>,
        body: &Body,
        inputs: &[String],
        accumulators: &[String],
        loops: &[String],
    ) -> Vec<String> {
        let mut made: Vec<String> = Vec::new();
        let value = |arg: &Arg, made: &[String]| match arg {
            Arg::Input(i) => inputs[*i].clone(),
            Arg::Accumulator(i) => accumulators[*i].clone(),
            Arg::Inst(i) => made[*i].clone(),
        };
        for inst in &body.insts {
            let v = match inst {
                Inst::Const(value, ty) => arith::constant(*value, *ty, self),
                Inst::Index(index, ty) => {
                    let at = self.index(op, index, loops);
                    let at = self.value(&format!("arith.index_cast {at} : index to i64"));
                    arith::operation(ScalarOp::Convert, ElementType::I64, *ty, &[at], self)
                }
                Inst::Op { op: scalar, args, ty } => {
                    let values: Vec<String> = args.iter().map(|a| value(a, &made)).collect();
                    let first = args.first().map_or(*ty, |&a| body.arg_type(a));
                    let from = if *scalar == ScalarOp::Select { *ty } else { first };
                    let v = arith::operation(*scalar, from, *ty, &values, self);
                    let sums = *scalar == ScalarOp::Add && args.iter().any(|a| matches!(a, Arg::Accumulator(_)));
                    if arith::rounds(*scalar, from, *ty) && is_narrow(*ty) && !sums {
                        let low = self.narrowed(&v, *ty);
                        self.widened(&low, *ty)
                    } else {
                        v
                    }
                }
            };
            made.push(v);
        }
        body.results.iter().map(|arg| value(arg, &made)).collect()
    }
}

/// Returns the loops at whose positions an input is read. Returns `None` if a loop occurs twice, if there are guards,
/// or if a loop doesn't cover all of the operand, because linalg takes trip counts from its shape.
fn at_loops(op: OpRef<'_>, nest: &Nest, input: &Input) -> Option<Vec<usize>> {
    let shape = &op.operand_tensor(input.operand)?.shape;
    let mut dims = Vec::new();
    for (index, &size) in input.index.iter().zip(shape) {
        match index {
            Index::Loop(l) if !dims.contains(l) && nest.loops[*l] == size => dims.push(*l),
            _ => return None,
        }
    }
    input.guards.is_empty().then_some(dims)
}

/// Writes an affine map such as `affine_map<(d0, d1) -> (d1)>`.
fn map(loops: usize, dims: &[usize]) -> String {
    let all: Vec<String> = (0..loops).map(|l| format!("d{l}")).collect();
    let dims: Vec<String> = dims.iter().map(|l| format!("d{l}")).collect();
    format!("affine_map<({}) -> ({})>", all.join(", "), dims.join(", "))
}
