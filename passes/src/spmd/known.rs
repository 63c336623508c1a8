//! Integers that every device can compute itself, such as its coordinate along an axis, evaluated for each class of
//! devices.

use dialect::eval::{Context, EvalError, EvalResult, Lanes, Mask};
use dialect::ir::{AttrList, Name, OpRef, Region, TensorType, Ty};
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use rustc_hash::FxHashMap;

use super::spread::{Spread, Spreads};

type OpKey = (Name, AttrList, Vec<Spread>, Ty);

/// A cache of spreads of integers, by op and operands.
#[derive(Default)]
pub(super) struct SpreadCache(FxHashMap<OpKey, Option<Spread>>);

impl SpreadCache {
    /// Returns the spread of the only result of `op` if it is one integer that depends only on known ones and
    /// constants.
    pub(super) fn result(&mut self, op: OpRef<'_>, operands: &[Spread], spreads: &mut Spreads) -> Option<Spread> {
        let ty = one_integer(op.result_tensor(0))?;
        let data = op.program.op(op.op);
        if op.result_count() != 1 || !data.regions.is_empty() || op.def().side_effect(op) {
            return None;
        }
        if let Some(literal) = op.def().constant(op) {
            return Some(spreads.constant(integer(literal)?));
        }
        if operands.is_empty() {
            return None;
        }
        // A constant operand may be a large table, which the key doesn't contain; then the result isn't cached.
        let tables: Vec<Option<&Literal>> = (0..operands.len()).map(|i| op.constant_operand(i)).collect();
        let all = operands.iter().zip(&tables).all(|(&s, table)| table.is_some() || spreads.values(s).is_some());
        if !all {
            return None;
        }
        let by_key = tables.iter().zip(operands).all(|(t, &s)| t.is_none() || spreads.values(s).is_some());
        let key = (data.name, data.attrs.clone(), operands.to_vec(), data_type(op));
        if by_key && let Some(&known) = self.0.get(&key) {
            return known;
        }
        let made = computed(op, operands, &tables, &ty, spreads);
        if by_key {
            self.0.insert(key, made);
        }
        made
    }
}

fn data_type(op: OpRef<'_>) -> Ty {
    op.program.value_type(op.program.result(op.op, 0))
}

/// Evaluates the op once for each class of devices that differ in its operands.
fn computed(
    op: OpRef<'_>,
    operands: &[Spread],
    tables: &[Option<&Literal>],
    ty: &TensorType,
    spreads: &mut Spreads,
) -> Option<Spread> {
    let joined = operands.iter().fold(Spread::UNIFORM, |a, &b| spreads.join(a, b));
    let classes = spreads.classes(joined).to_vec();
    let mut of_class: Vec<Option<i64>> = vec![None; classes.iter().max().map_or(0, |&c| c as usize + 1)];
    for (device, &class) in classes.iter().enumerate() {
        if of_class[class as usize].is_some() {
            continue;
        }
        let mut literals = Vec::with_capacity(operands.len());
        for (i, &operand) in operands.iter().enumerate() {
            literals.push(match (spreads.values(operand), tables[i]) {
                (Some(values), _) => {
                    let value = values[spreads.classes(operand)[device] as usize];
                    let ty = op.operand_tensor(i)?;
                    Literal::from_scalars(ty.element, &ty.shape, [Scalar::Int(value.into())])
                }
                (None, table) => table?.clone(),
            });
        }
        let made = dialect::eval::evaluate(op, &literals, &mut Alone).ok()?;
        let made = made.first().filter(|made| made.ty() == *ty)?;
        of_class[class as usize] = Some(integer(made)?);
    }
    let values: Vec<i64> = of_class.into_iter().collect::<Option<_>>()?;
    Some(spreads.by_value(classes.iter().map(|&class| values[class as usize])))
}

/// Returns the type of a tensor of one integer.
fn one_integer(ty: Option<&TensorType>) -> Option<TensorType> {
    let ty = ty?;
    (ty.shape.iter().all(|&n| n == 1) && !ty.element.is_float()).then(|| ty.clone())
}

fn integer(literal: &Literal) -> Option<i64> {
    match (literal.len(), literal.get(0)) {
        (1, Scalar::Int(value)) => value.try_into().ok(),
        _ => None,
    }
}

/// The context for evaluating an op that neither communicates nor has regions.
struct Alone;

fn nowhere<T>() -> EvalResult<T> {
    Err(EvalError::new("its value isn't evaluated for each device"))
}

impl Context for Alone {
    fn replicas(&self) -> usize {
        1
    }

    fn partitions(&self) -> usize {
        1
    }

    fn region(&mut self, _: Region, _: &[Lanes], _: &Mask) -> EvalResult<Vec<Lanes>> {
        nowhere()
    }

    fn isolated(&mut self, _: usize, _: Region, _: &[Lanes], _: &Mask) -> EvalResult<Vec<Lanes>> {
        nowhere()
    }

    fn call(&mut self, _: &str, _: &[Lanes], _: &Mask) -> EvalResult<Vec<Lanes>> {
        nowhere()
    }

    fn lane(&self) -> usize {
        0
    }

    fn set_lane(&mut self, _: usize) {}

    fn step(&mut self) -> EvalResult<()> {
        nowhere()
    }
}
