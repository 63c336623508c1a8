//! Loops and branches.

use super::text::{list, ty};
use super::{Value, Writer};

impl Writer {
    /// Writes some steps into a region and returns a value of the shape of `or`: one that a step created, or else `or`
    /// itself.
    fn inside(&mut self, steps: usize, or: &Value) -> Value {
        let before = self.values.len();
        self.depth += 1;
        for _ in 0..steps {
            self.step();
        }
        let made: Vec<Value> = self.values[before..].iter().filter(|v| v.shape == or.shape).cloned().collect();
        self.values.truncate(before);
        self.depth -= 1;
        made.last().cloned().unwrap_or_else(|| or.clone())
    }

    /// Writes a loop or a choice.
    pub(super) fn control(&mut self) {
        match self.depth > 1 {
            true => self.binary(),
            false => self.pick(&[Writer::repeat, Writer::choose])(self),
        }
    }

    /// Writes a while loop of a few iterations over one or two values.
    fn repeat(&mut self) {
        let carried: Vec<Value> = (0..self.random.usize(1..3)).map(|_| self.any()).collect();
        let (start, one) = (self.splat(&[], 0), self.splat(&[], 1));
        // Devices of a manual region may have different values, but must all run the same number of iterations.
        let manual = self.mesh.iter().any(|a| a.manual);
        let limit = match manual {
            true => self.splat(&[], 2),
            false => self.scalar_position(3),
        };
        let (result, counter) = (self.name(), self.name());
        let names: Vec<Value> = carried.iter().map(|v| Value { name: self.name(), shape: v.shape.clone() }).collect();
        let types = list(std::iter::once("tensor<i32>".to_owned()).chain(carried.iter().map(|v| ty(&v.shape))));
        let heads = list(
            std::iter::once(format!("{counter} = {}", start.name))
                .chain(names.iter().zip(&carried).map(|(n, v)| format!("{} = {}", n.name, v.name))),
        );
        self.line(format!("{result}:{} = stablehlo.while({heads}) : {types}", carried.len() + 1));
        let go = self.name();
        self.line(format!(
            " cond {{ {go} = stablehlo.compare LT, {counter}, {} : (tensor<i32>, tensor<i32>) -> tensor<i1> \
             stablehlo.return {go} : tensor<i1> }} do {{",
            limit.name
        ));
        let outside = self.values.len();
        self.values.extend(names.iter().cloned());
        let steps = self.random.usize(1..4);
        let mut out = vec![self.inside(steps, &names[0])];
        out.extend(names.iter().skip(1).cloned());
        let next = self.name();
        self.line(format!("  {next} = stablehlo.add {counter}, {} : tensor<i32>", one.name));
        self.line(format!(
            "  stablehlo.return {} : {types} }}",
            list(std::iter::once(&next).chain(out.iter().map(|v| &v.name)))
        ));
        self.values.truncate(outside);
        for (i, v) in carried.iter().enumerate() {
            self.add(&v.shape, format!("stablehlo.optimization_barrier {result}#{} : {}", i + 1, ty(&v.shape)));
        }
    }

    /// Writes a choice between two or three branches.
    fn choose(&mut self) {
        let of = self.any();
        let manual = self.mesh.iter().any(|a| a.manual);
        let index = match manual {
            true => self.splat(&[], 1),
            false => self.scalar_position(2),
        };
        let result = self.name();
        self.line(format!("{result} = \"stablehlo.case\"({}) ({{", index.name));
        let branches = self.random.usize(2..4);
        for branch in 0..branches {
            let steps = self.random.usize(1..4);
            let out = self.inside(steps, &of);
            self.line(format!("  \"stablehlo.return\"({}) : ({}) -> ()", out.name, ty(&of.shape)));
            self.line(if branch + 1 < branches {
                "}, {".to_owned()
            } else {
                format!("}}) : (tensor<i32>) -> {}", ty(&of.shape))
            });
        }
        self.values.push(Value { name: result, shape: of.shape });
    }

    /// Writes the steps of a manual region over these values, and returns one of the final values.
    pub(super) fn body(&mut self, values: Vec<Value>) -> Value {
        let outside = std::mem::take(&mut self.values);
        let all = values.clone();
        self.values = values;
        let steps = self.random.usize(1..5);
        self.depth += 1;
        for _ in 0..steps {
            self.step();
        }
        self.depth -= 1;
        let inside = std::mem::replace(&mut self.values, outside);
        let ranked = |v: &&Value| !v.shape.is_empty();
        inside.iter().rev().find(ranked).or_else(|| all.iter().find(ranked)).cloned().unwrap_or_else(|| all[0].clone())
    }
}
