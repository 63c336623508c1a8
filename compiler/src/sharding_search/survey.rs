//! The survey of a program: its arguments and results, and the roles that mesh axes can have.
//!
//! The survey works on classes of dimensions, so that equal layers are decided once, and classes with similar arguments
//! together.

use std::collections::{BTreeMap, HashMap};

use dialect::ir::{Op, Program, TensorType, Value};
use dialect::ops::func;
use passes::dimension_classes::{ClassId, DimensionClasses};

use crate::place::value_name;

/// The maximum number of classes per kind: those with the most work.
const CLASSES: usize = 4;
/// The threshold above which a class spans the whole program, as a fraction of the FLOPs of all products.
const EVERYWHERE: f64 = 0.5;
/// The same threshold for a program that only predicts, in which other classes span most products too.
const ALWAYS: f64 = 0.9;
/// The threshold for sharding a parameter only to save memory, as a fraction of the largest parameter.
const SMALL: f64 = 1.0 / 1024.0;

/// The use of a mesh axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum AxisUse {
    /// Examples of a batch.
    Data,
    /// Positions of a sequence that attend to each other.
    Sequence,
    /// Matrices of parameters, each multiplied by different rows.
    Expert,
    /// Dimensions of parameters.
    Model,
}

impl AxisUse {
    /// Returns its name, which axes with this use get.
    pub(super) fn text(self) -> &'static str {
        match self {
            AxisUse::Data => "data",
            AxisUse::Sequence => "sequence",
            AxisUse::Expert => "expert",
            AxisUse::Model => "model",
        }
    }

    /// Returns whether this is a kind of data dimension, which parameters don't have.
    pub(super) fn is_of_data(self) -> bool {
        matches!(self, AxisUse::Data | AxisUse::Sequence)
    }
}

/// Classes that one axis can shard together.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Role {
    pub(super) kind: AxisUse,
    pub(super) classes: Vec<ClassId>,
}

/// An argument or a result of `@main`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) shape: Vec<i64>,
    pub(super) bytes: f64,
    /// The class of each dimension.
    pub(super) classes: Vec<ClassId>,
    /// Whether the user stated its sharding.
    pub(super) fixed: bool,
    /// Whether it is a parameter that is large enough to be sharded only to save memory.
    pub(super) is_stored: bool,
    /// For a result, the argument that it replaces in the next step.
    pub(super) like: Option<usize>,
}

/// The dimensions of a program that can be sharded.
pub(super) struct Survey {
    pub(super) arguments: Vec<Tensor>,
    pub(super) results: Vec<Tensor>,
    pub(super) roles: Vec<Role>,
    /// The class with the most bytes of parameters. Parameters are stored in shards along it.
    pub(super) main: Option<ClassId>,
    /// The class of each dimension of each value.
    pub(super) classes: DimensionClasses,
    /// The ops inside the program whose results have dimensions of data, with the classes of their results.
    pub(super) activations: Vec<(Op, Vec<Vec<ClassId>>)>,
}

impl Survey {
    /// Surveys an imported program.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let main = func::function(program, "main")?;
        let block = func::block(program, main)?;
        let classes = DimensionClasses::of(program, block);
        let tensor = |value: Value, name: String, fixed: bool| {
            let ty = program.tensor_type(value);
            Tensor {
                name,
                shape: ty.map_or_else(Vec::new, |ty| ty.shape.to_vec()),
                bytes: ty.and_then(TensorType::bytes).unwrap_or(0) as f64,
                classes: classes.of_value(program, value).to_vec(),
                fixed: fixed || ty.is_none_or(|ty| !ty.is_static()),
                is_stored: false,
                like: None,
            }
        };
        let arguments = program.block_args(block).iter().enumerate();
        let argument = |(i, &value): (usize, &Value)| {
            tensor(value, value_name(program, value), func::arg_sharding(program, main, i).is_some())
        };
        let mut arguments: Vec<Tensor> = arguments.map(argument).collect();
        let returned = program.terminator(block).map_or(&[][..], |end| &program.op(end).operands);
        let result = |(i, &value): (usize, &Value)| {
            tensor(value, format!("result {i}"), func::result_sharding(program, main, i).is_some())
        };
        let mut results: Vec<Tensor> = returned.iter().enumerate().map(result).collect();
        pair(&arguments, &mut results);
        let kinds = Kinds::of(&classes, &arguments, &results);
        for argument in &mut arguments {
            argument.is_stored = !argument.classes.is_empty() && !kinds.has_data(&argument.classes);
        }
        let largest = arguments.iter().filter(|a| a.is_stored).map(|a| a.bytes).fold(0.0, f64::max);
        arguments.iter_mut().for_each(|a| a.is_stored &= a.bytes >= largest * SMALL);
        let mut stored: BTreeMap<ClassId, f64> = BTreeMap::new();
        for argument in arguments.iter().filter(|a| a.is_stored) {
            argument.classes.iter().for_each(|&class| *stored.entry(class).or_default() += argument.bytes);
        }
        let main = stored.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0))).map(|c| *c.0);
        let roles = kinds.roles(&arguments);
        let mut activations = Vec::new();
        program.walk(block, &mut |op| {
            let of_results: Vec<Vec<ClassId>> =
                program.results(op).map(|v| classes.of_value(program, v).to_vec()).collect();
            if of_results.iter().any(|list| kinds.has_data(list)) {
                activations.push((op, of_results));
            }
        });
        Some(Self { arguments, results, roles, main, classes, activations })
    }

    /// Returns whether any of these classes is data.
    pub(super) fn is_of_data(&self, classes: &[ClassId]) -> bool {
        let data = self.roles.iter().filter(|role| role.kind.is_of_data());
        data.flat_map(|role| &role.classes).any(|class| classes.contains(class))
    }
}

/// Pairs results with the arguments that they replace; similar ones in order.
fn pair(arguments: &[Tensor], results: &mut [Tensor]) {
    let mut alike: HashMap<(&[ClassId], &[i64]), Vec<usize>> = HashMap::new();
    for (i, argument) in arguments.iter().enumerate().rev().filter(|a| !a.1.shape.is_empty()) {
        alike.entry((&argument.classes, &argument.shape)).or_default().push(i);
    }
    for result in results {
        result.like = alike.get_mut(&(&result.classes[..], &result.shape[..])).and_then(Vec::pop);
    }
}

/// The kind of dimensions of each class.
struct Kinds {
    kinds: Vec<Option<AxisUse>>,
    /// FLOPs of the products that contain a class.
    flops: Vec<f64>,
    bytes: Vec<f64>,
    /// Pairs of classes in one tensor of a product. One axis can't shard both.
    meet: Vec<Vec<ClassId>>,
}

impl Kinds {
    fn of(classes: &DimensionClasses, arguments: &[Tensor], results: &[Tensor]) -> Self {
        let count = classes.count();
        let mut flops = vec![0.0; count];
        let mut meet: Vec<Vec<ClassId>> = vec![Vec::new(); count];
        // Whether a product without a batch sums over a class. Features are summed over this way; the batch is summed
        // over only in gradients.
        let mut summed = vec![false; count];
        let mut all = 0.0;
        for product in classes.products() {
            let mut own: Vec<ClassId> = product.contracted.to_vec();
            own.extend(product.batch.iter().chain(&product.free));
            own.sort_unstable();
            own.dedup();
            all += product.flops;
            own.iter().for_each(|class| flops[class.index()] += product.flops);
            for &a in &own {
                for &b in own.iter().filter(|&&b| b != a && !meet[a.index()].contains(&b)).collect::<Vec<_>>() {
                    meet[a.index()].push(b);
                }
            }
            if product.batch.is_empty() {
                product.contracted.iter().for_each(|class| summed[class.index()] = true);
            }
        }
        let bytes = (0..count).map(|class| classes.bytes(ClassId::new(class))).collect();
        // Parameters are the arguments that a training step replaces; most arguments are. Data classes don't occur in
        // parameters.
        let mut replaced = vec![false; count];
        let mut learned = 0;
        for argument in results.iter().filter_map(|result| result.like) {
            arguments[argument].classes.iter().for_each(|class| replaced[class.index()] = true);
            learned += 1;
        }
        let everywhere = |class: usize, least: f64| all > 0.0 && flops[class] >= least * all;
        let learns = 2 * learned >= arguments.iter().filter(|argument| !argument.shape.is_empty()).count();
        let mut of_data: Vec<bool> =
            (0..count).map(|class| learns && !replaced[class] && everywhere(class, EVERYWHERE)).collect();
        // In a program that only predicts, data classes are never summed over.
        if !of_data.contains(&true) {
            of_data = (0..count).map(|class| !summed[class] && everywhere(class, ALWAYS)).collect();
            // Experts are the batch of products in which data is free on one side only.
            let all: Vec<bool> = of_data.clone();
            for product in classes.products() {
                let once = |class: &&ClassId| product.free.iter().filter(|other| other == class).count() == 1;
                if product.free.iter().filter(once).any(|class| all[class.index()]) {
                    product.batch.iter().for_each(|class| of_data[class.index()] = false);
                }
            }
        }
        let kinds = uses(classes, arguments, &of_data, &flops);
        Self { kinds, flops, bytes, meet }
    }

    fn has_data(&self, classes: &[ClassId]) -> bool {
        classes.iter().any(|class| self.kinds[class.index()].is_some_and(AxisUse::is_of_data))
    }

    /// Returns the possible roles of axes: each class of data or experts alone, and as many parameter classes together
    /// as share no product.
    fn roles(&self, arguments: &[Tensor]) -> Vec<Role> {
        let mut by_work: Vec<ClassId> = (0..self.kinds.len()).map(ClassId::new).collect();
        by_work.retain(|class| self.kinds[class.index()].is_some());
        let key = |class: &ClassId| (self.flops[class.index()], self.bytes[class.index()]);
        by_work.sort_by(|a, b| {
            let (a_key, b_key) = (key(a), key(b));
            b_key.0.total_cmp(&a_key.0).then(b_key.1.total_cmp(&a_key.1)).then(a.cmp(b))
        });
        // Classes with the same arguments, such as those of equal layers, are decided together.
        let mut twins: HashMap<Vec<(&[i64], usize)>, ClassId> = HashMap::new();
        let mut twin: HashMap<ClassId, Vec<ClassId>> = HashMap::new();
        for &class in &by_work {
            let mut places: Vec<(&[i64], usize)> = Vec::new();
            for argument in arguments {
                let own = argument.classes.iter().enumerate().filter(|c| *c.1 == class);
                places.extend(own.map(|(dim, _)| (&argument.shape[..], dim)));
            }
            places.sort_unstable();
            let first = if places.is_empty() { class } else { *twins.entry(places).or_insert(class) };
            twin.entry(first).or_default().push(class);
        }
        let mut roles: Vec<Role> = Vec::new();
        for kind in [AxisUse::Data, AxisUse::Sequence, AxisUse::Expert, AxisUse::Model] {
            let mut own: Vec<Role> = Vec::new();
            for class in by_work.iter().filter(|class| self.kinds[class.index()] == Some(kind)) {
                let Some(classes) = twin.get(class) else { continue };
                let meets =
                    |role: &Role| role.classes.iter().any(|a| classes.iter().any(|b| self.meet[a.index()].contains(b)));
                match own.iter_mut().find(|role| kind == AxisUse::Model && !meets(role)) {
                    Some(role) => role.classes.extend(classes),
                    None => own.push(Role { kind, classes: classes.clone() }),
                }
            }
            own.truncate(CLASSES);
            roles.extend(own);
        }
        roles
    }
}

/// Returns the use of each class, given the classes of data and the FLOPs of the products with each.
fn uses(classes: &DimensionClasses, arguments: &[Tensor], of_data: &[bool], flops: &[f64]) -> Vec<Option<AxisUse>> {
    let mut kinds = vec![None; of_data.len()];
    for class in (0..of_data.len()).filter(|&class| of_data[class]) {
        kinds[class] = Some(AxisUse::Data);
    }
    let is_data = |class: &ClassId, kinds: &[Option<AxisUse>]| kinds[class.index()] == Some(AxisUse::Data);
    // A sequence attends to itself: a product has its class twice, or sums over it next to a data batch.
    let data = kinds.clone();
    for product in classes.products() {
        let twice = product.free.iter().enumerate().filter(|(i, c)| product.free[..*i].contains(c)).map(|c| c.1);
        let both = product.contracted.iter().filter(|c| product.free.contains(c));
        let next_to_data = product.contracted.iter().filter(|_| product.batch.iter().any(|b| is_data(b, &data)));
        for class in twice.chain(both).chain(next_to_data).filter(|c| is_data(c, &data)) {
            kinds[class.index()] = Some(AxisUse::Sequence);
        }
    }
    // Experts are the batch of products in which data is no batch, so that one side is a parameter.
    for argument in arguments {
        for &class in &argument.classes {
            if kinds[class.index()].is_none() && flops[class.index()] > 0.0 {
                kinds[class.index()] = Some(AxisUse::Model);
            }
        }
    }
    for product in classes.products() {
        if product.batch.iter().any(|class| is_data(class, &data)) {
            continue;
        }
        for class in &product.batch {
            if kinds[class.index()] == Some(AxisUse::Model) {
                kinds[class.index()] = Some(AxisUse::Expert);
            }
        }
    }
    kinds
}
