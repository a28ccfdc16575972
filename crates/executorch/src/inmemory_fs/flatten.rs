//! Writing: a tree of files into one run of bytes.

use std::io::{self, Write};

use serde::Serialize;

use super::{Directory, MAX_DEPTH, Node, check_name};

/// A tree that cannot be flattened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot put '{path}' into the delegate's file system: {problem}")]
pub struct FlattenError {
    /// Path of the entry inside the tree.
    pub path: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Field order is ExecuTorch's: its JSON library sorts keys.
#[derive(Serialize)]
struct Metadata {
    nodes: Vec<NodeMetadata>,
}

#[derive(Serialize)]
struct NodeMetadata {
    children: std::collections::BTreeMap<String, usize>,
    #[serde(rename = "dataRegion")]
    data_region: Region,
    kind: u8,
    name: String,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Region {
    offset: u64,
    size: u64,
}

impl Directory {
    /// The tree as one run of bytes. `root_name` is the name that the root directory has in the metadata; readers
    /// make a directory of that name, ExecuTorch writes `lowered_module`.
    ///
    /// # Errors
    /// When a name is no plain file name or directories nest deeper than [`MAX_DEPTH`].
    pub fn flatten(&self, root_name: &str) -> Result<Vec<u8>, FlattenError> {
        let plan = Plan::of(self, root_name)?;
        let mut out = Vec::with_capacity(plan.data_size() + plan.trailer.len());
        for contents in &plan.files {
            out.extend_from_slice(contents);
        }
        out.extend_from_slice(&plan.trailer);
        Ok(out)
    }

    /// Writes what [`Directory::flatten`] returns, without holding it in memory.
    ///
    /// # Errors
    /// Those of the writer; a tree that cannot be flattened is an [`io::ErrorKind::InvalidInput`].
    pub fn flatten_to(&self, root_name: &str, out: &mut impl Write) -> io::Result<()> {
        let plan = Plan::of(self, root_name).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        for contents in &plan.files {
            out.write_all(contents)?;
        }
        out.write_all(&plan.trailer)
    }
}

/// What is to be written: the files in order, then the reversed metadata.
struct Plan<'a> {
    files: Vec<&'a [u8]>,
    trailer: Vec<u8>,
}

impl<'a> Plan<'a> {
    fn of(root: &'a Directory, root_name: &str) -> Result<Self, FlattenError> {
        check_name(root_name).map_err(|problem| FlattenError { path: root_name.to_owned(), problem })?;
        let mut plan = Plan { files: Vec::new(), trailer: Vec::new() };
        let mut nodes = Vec::new();
        let mut offset = 0;
        plan.add_directory(root, root_name, &mut Vec::new(), &mut offset, &mut nodes)?;
        let unwritable = |_| FlattenError { path: root_name.to_owned(), problem: "its metadata is no JSON" };
        plan.trailer = serde_json::to_vec(&Metadata { nodes }).map_err(unwritable)?;
        plan.trailer.reverse();
        Ok(plan)
    }

    fn data_size(&self) -> usize {
        self.files.iter().map(|file| file.len()).sum()
    }

    fn add_directory<'n>(
        &mut self,
        directory: &'a Directory,
        name: &str,
        path: &mut Vec<&'n str>,
        offset: &mut u64,
        nodes: &mut Vec<NodeMetadata>,
    ) -> Result<usize, FlattenError>
    where
        'a: 'n,
    {
        let mut children = std::collections::BTreeMap::new();
        for (child, node) in &directory.entries {
            path.push(child);
            let refuse = |problem| FlattenError { path: path.join("/"), problem };
            check_name(child).map_err(refuse)?;
            if path.len() > MAX_DEPTH {
                return Err(refuse("directories nest too deeply"));
            }
            let index = match node {
                Node::Directory(inner) => self.add_directory(inner, child, path, offset, nodes)?,
                Node::File(contents) => {
                    let data_region = Region { offset: *offset, size: contents.len() as u64 };
                    *offset += data_region.size;
                    self.files.push(contents);
                    nodes.push(NodeMetadata {
                        children: Default::default(),
                        data_region,
                        kind: 0,
                        name: child.clone(),
                    });
                    nodes.len() - 1
                }
            };
            children.insert(child.clone(), index);
            path.pop();
        }
        nodes.push(NodeMetadata { children, data_region: Region::default(), kind: 1, name: name.to_owned() });
        Ok(nodes.len() - 1)
    }
}
