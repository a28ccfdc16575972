//! Where an op came from.

use std::sync::Arc;

/// Where an op came from: the node of the source model, and the passes that made or changed it since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The source node, shared by all ops that were lowered from it.
    pub source: Option<Arc<SourceNode>>,
    /// The last pass that made or changed the op, and those before it.
    trail: Option<Arc<Touch>>,
}

/// A pass that made or changed an op. Ops that went through the same passes together share these.
#[derive(Debug, PartialEq, Eq)]
struct Touch {
    pass: Arc<str>,
    before: Option<Arc<Touch>>,
}

/// A node of the source model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SourceNode {
    /// Name of the node (`add_3`).
    pub name: String,
    /// What it calls (`aten.add.Tensor`).
    pub target: String,
    /// Path of the module that holds it (`encoder.layers.0.fc1`).
    pub module_path: String,
    /// The line of source it was traced from, where the model records one.
    pub source_line: Option<String>,
    /// ExecuTorch's debug handles.
    pub debug_handles: Vec<i64>,
}

impl Origin {
    /// An origin at a source node.
    pub fn from_source(source: Arc<SourceNode>) -> Origin {
        Origin { source: Some(source), trail: None }
    }

    /// Records that the pass `id` made or changed the op.
    pub fn touch(&mut self, id: &Arc<str>) {
        if self.trail.as_ref().is_none_or(|t| t.pass != *id) {
            self.trail = Some(Arc::new(Touch { pass: id.clone(), before: self.trail.take() }));
        }
    }

    /// Ids of the passes that made or changed the op, in order, each once in a row.
    pub fn passes(&self) -> Vec<&str> {
        let links = std::iter::successors(self.trail.as_deref(), |t| t.before.as_deref());
        let mut passes: Vec<&str> = links.map(|t| t.pass.as_ref()).collect();
        passes.reverse();
        passes
    }
}
