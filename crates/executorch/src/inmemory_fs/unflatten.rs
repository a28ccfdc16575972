//! Reading: a run of bytes into a tree of files that share it.

use std::collections::BTreeMap;

use bytes::Bytes;
use indexmap::IndexMap;
use serde::Deserialize;

use super::{Directory, MAX_DEPTH, Node, check_name};

/// Most bytes of metadata that are read; ExecuTorch's own bound.
const MAX_METADATA: usize = 10 << 20;

/// A blob that is no flattened directory, or not one that may be unpacked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it; offsets are in bytes from the start of the blob")]
pub enum UnflattenError {
    #[error(
        "the blob ends in byte {byte:#04x} at offset {offset}, where metadata of an in-memory file system ends in '{{' (reversed)"
    )]
    NoMetadata { offset: usize, byte: u8 },
    #[error("the blob of {len} bytes holds nothing but padding")]
    Empty { len: usize },
    #[error(
        "the metadata that ends at offset {offset} has no beginning within {searched} bytes; the blob is cut off or damaged"
    )]
    UnfinishedMetadata { offset: usize, searched: usize },
    #[error("the metadata at offset {offset} is not what an in-memory file system holds: {error}")]
    BadMetadata { offset: usize, error: serde_json::Error },
    #[error("node {index} ('{name}') of the metadata: {problem}")]
    BadNode { index: usize, name: String, problem: String },
    #[error("the metadata lists no nodes, so there is no root directory")]
    NoNodes,
}

/// A directory read from a blob, and the name that it had there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unflattened {
    /// The root directory's own name; `lowered_module` where ExecuTorch wrote it.
    pub root_name: String,
    /// The root directory.
    pub root: Directory,
}

#[derive(Deserialize)]
struct Metadata {
    nodes: Vec<NodeMetadata>,
}

#[derive(Deserialize)]
struct NodeMetadata {
    #[serde(default)]
    children: BTreeMap<String, usize>,
    #[serde(default, rename = "dataRegion")]
    data_region: Region,
    kind: u64,
    name: String,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Region {
    #[serde(default)]
    offset: u64,
    #[serde(default)]
    size: u64,
}

impl Directory {
    /// Reads a flattened directory. File contents are slices of `blob`, not copies.
    ///
    /// # Errors
    /// When the metadata is missing or damaged, or its nodes are no tree of plainly named files in disjoint ranges.
    pub fn unflatten(blob: &Bytes) -> Result<Unflattened, UnflattenError> {
        let (data_end, text) = find_metadata(blob)?;
        let metadata: Metadata =
            serde_json::from_slice(&text).map_err(|error| UnflattenError::BadMetadata { offset: data_end, error })?;
        check_regions(&metadata.nodes, data_end)?;
        build_tree(metadata.nodes, blob)
    }
}

/// Where the metadata starts in the blob, and its text put the right way round.
fn find_metadata(blob: &[u8]) -> Result<(usize, Vec<u8>), UnflattenError> {
    let is_padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let end = blob.iter().rposition(|byte| !is_padding(byte)).map(|last| last + 1);
    let Some(body) = end.and_then(|end| blob.get(..end)) else {
        return Err(UnflattenError::Empty { len: blob.len() });
    };
    let last = body.len() - 1;
    if body.last() != Some(&b'{') {
        return Err(UnflattenError::NoMetadata { offset: last, byte: body.last().copied().unwrap_or_default() });
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (position, byte) in body.iter().enumerate().rev().take(MAX_METADATA) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let text = body.iter().skip(position).rev().copied().collect();
            return Ok((position, text));
        }
    }
    Err(UnflattenError::UnfinishedMetadata { offset: last, searched: body.len().min(MAX_METADATA) })
}

fn bad_node(index: usize, name: &str, problem: impl Into<String>) -> UnflattenError {
    UnflattenError::BadNode { index, name: name.to_owned(), problem: problem.into() }
}

/// Files lie before the metadata and do not overlap.
fn check_regions(nodes: &[NodeMetadata], data_end: usize) -> Result<(), UnflattenError> {
    let mut files: Vec<(u64, u64, usize)> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        check_name(&node.name).map_err(|problem| bad_node(index, &node.name, problem))?;
        if node.kind > 1 {
            return Err(bad_node(
                index,
                &node.name,
                format!("kind {} is neither file (0) nor directory (1)", node.kind),
            ));
        }
        let Region { offset, size } = node.data_region;
        let end = offset.checked_add(size).filter(|end| *end <= data_end as u64);
        let Some(end) = end else {
            let problem = format!("{size} bytes at offset {offset} reach past the {data_end} bytes of file data");
            return Err(bad_node(index, &node.name, problem));
        };
        if node.kind == 0 && size > 0 {
            files.push((offset, end, index));
        }
    }
    files.sort_unstable();
    for pair in files.windows(2) {
        if let [(_, end, first), (start, _, second)] = pair
            && start < end
        {
            let name = nodes.get(*second).map_or("", |node| &node.name);
            return Err(bad_node(*second, name, format!("its bytes at offset {start} are also those of node {first}")));
        }
    }
    Ok(())
}

/// Children stand before their parent and belong to one only, so a single walk over the nodes builds the tree and
/// cannot run in circles.
fn build_tree(nodes: Vec<NodeMetadata>, blob: &Bytes) -> Result<Unflattened, UnflattenError> {
    let mut built: Vec<Option<(Node, usize)>> = Vec::with_capacity(nodes.len());
    let mut names: Vec<String> = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.into_iter().enumerate() {
        let fail = |problem: String| bad_node(index, &node.name, problem);
        if node.kind == 0 {
            // Checked against the blob above, so the range is inside it.
            let start = node.data_region.offset as usize;
            let contents = blob.slice(start..start + node.data_region.size as usize);
            built.push(Some((Node::File(contents), 0)));
            names.push(node.name);
            continue;
        }
        let mut children: Vec<(usize, &String)> = node.children.iter().map(|(name, child)| (*child, name)).collect();
        children.sort_unstable();
        let mut entries = IndexMap::with_capacity(children.len());
        let mut depth = 1;
        for (child, name) in children {
            if names.get(child).is_some_and(|own| own != name) {
                return Err(fail(format!("child '{name}' is node {child}, which has another name")));
            }
            let taken = built.get_mut(child).and_then(Option::take);
            let Some((inner, inner_depth)) = taken else {
                return Err(fail(format!(
                    "child '{name}' is node {child}, which is not before it or has a parent already"
                )));
            };
            depth = depth.max(inner_depth + 1);
            entries.insert(name.clone(), inner);
        }
        if depth > MAX_DEPTH {
            return Err(fail(format!("directories nest deeper than {MAX_DEPTH}")));
        }
        built.push(Some((Node::Directory(Directory { entries }), depth)));
        names.push(node.name);
    }
    let (Some(root), Some(root_name)) = (built.pop(), names.pop()) else {
        return Err(UnflattenError::NoNodes);
    };
    if let Some((index, name)) =
        built.iter().zip(&names).enumerate().find_map(|(i, (node, name))| node.as_ref().map(|_| (i, name)))
    {
        return Err(bad_node(index, name, "it is in no directory"));
    }
    match root {
        Some((Node::Directory(root), _)) => Ok(Unflattened { root_name, root }),
        _ => Err(bad_node(names.len(), &root_name, "the last node is the root and must be a directory")),
    }
}
