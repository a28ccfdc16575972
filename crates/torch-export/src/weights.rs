//! Weights and constants: tensors over the entries of the archive.
//!
//! A weight is a view (sizes, strides, offset) of an entry's bytes, and several may share one entry. The view
//! is checked against the bytes when it is read. Pickled weights are refused by name.

use bytes::Bytes;
use coremill_tensor::Data;
use indexmap::IndexMap;

use crate::archive::Archive;
use crate::error::{Problem, Result};
use crate::program::parse;
use crate::schema::{self, PayloadConfig, PayloadMeta};
use crate::types::{Layout, ScalarType};

/// A tensor of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Its fully qualified name.
    pub name: String,
    /// Element type.
    pub dtype: ScalarType,
    /// Extents, outermost first.
    pub sizes: Vec<usize>,
    /// Elements from one index to the next, for each dimension.
    pub strides: Vec<usize>,
    /// Elements of the storage before the first.
    pub storage_offset: usize,
    /// Is it a parameter, not a buffer?
    pub is_parameter: bool,
    /// The archive entry of its storage; weights of the same entry share it.
    pub entry: String,
    /// The whole storage.
    pub bytes: Bytes,
}

/// Where a kind of weight lies in the archive.
pub(crate) struct Section {
    name: &'static str,
    folder: &'static str,
    config: &'static str,
    legacy: &'static str,
}

pub(crate) const WEIGHTS: Section =
    Section { name: "weight", folder: "data/weights/", config: "_weights_config.json", legacy: ".pt" };

pub(crate) const CONSTANTS: Section =
    Section { name: "constant", folder: "data/constants/", config: "_constants_config.json", legacy: ".pt" };

/// A view that repeats elements (stride 0) may become this many times its storage when it is made dense.
const MAX_REPEAT: usize = 64;

/// A view that becomes no larger than this is made dense whatever it repeats.
const ALWAYS_DENSE: usize = 16 << 20;

/// The weights of one section and what is wrong with those that can't be had.
///
/// # Errors
/// When the section's list is missing or can't be read.
pub(crate) fn read(
    archive: &Archive,
    section: &Section,
    model: &str,
) -> Result<(IndexMap<String, Weight>, Vec<Problem>)> {
    let entry = format!("{}{model}{}", section.folder, section.config);
    if !archive.contains(&entry) {
        let legacy = format!("{}{model}{}", section.folder, section.legacy);
        let hint = if archive.contains(&legacy) {
            format!(
                "its {}s are pickled in `{legacy}`, and pickles are never loaded; save it again with torch 2.13",
                section.name
            )
        } else {
            format!("it lists the {}s; is the file whole?", section.name)
        };
        return Err(Problem::MissingEntry { entry, hint }.into());
    }
    let list: PayloadConfig = parse(&entry, &archive.get(&entry)?)?;
    let mut weights = IndexMap::new();
    let mut problems = Vec::new();
    let mut storages: IndexMap<String, Bytes> = IndexMap::new();
    for (name, meta) in list.config {
        match weight(archive, section, &mut storages, &name, &meta) {
            Ok(w) => {
                weights.insert(name, w);
            }
            Err(what) => problems.push(Problem::Weight { section: section.name, name, what }),
        }
    }
    Ok((weights, problems))
}

fn weight(
    archive: &Archive,
    section: &Section,
    storages: &mut IndexMap<String, Bytes>,
    name: &str,
    payload: &PayloadMeta,
) -> std::result::Result<Weight, String> {
    let entry = format!("{}{}", section.folder, payload.path_name);
    if payload.use_pickle {
        return Err(format!(
            "is pickled in `{entry}`, and pickles are never loaded; export the model with plain tensors"
        ));
    }
    let Some(meta) = &payload.tensor_meta else {
        return Err("has no tensor_meta, so it is no tensor".to_owned());
    };
    let dtype = ScalarType::from_code(meta.dtype).filter(|t| t.size().is_some());
    let dtype = dtype.ok_or_else(|| format!("has dtype code {}, which the schema does not know", meta.dtype))?;
    match Layout::from_code(meta.layout) {
        Some(Layout::Strided) => {}
        Some(l) => return Err(format!("has layout {l}; make it dense before export")),
        None => return Err(format!("has layout code {}, which the schema does not know", meta.layout)),
    }
    if !archive.contains(&entry) {
        return Err(format!("the file holds no entry `{entry}`"));
    }
    let bytes = match storages.get(&entry) {
        Some(b) => b.clone(),
        None => {
            let b = archive.get(&entry).map_err(|e| e.to_string())?;
            storages.insert(entry.clone(), b.clone());
            b
        }
    };
    let w = Weight {
        name: name.to_owned(),
        dtype,
        sizes: numbers(&meta.sizes, "size")?,
        strides: numbers(&meta.strides, "stride")?,
        storage_offset: number(&meta.storage_offset, "storage offset")?,
        is_parameter: payload.is_param,
        entry,
        bytes,
    };
    w.check()?;
    Ok(w)
}

fn numbers(list: &[schema::SymInt], what: &str) -> std::result::Result<Vec<usize>, String> {
    list.iter().map(|n| number(n, what)).collect()
}

fn number(n: &schema::SymInt, what: &str) -> std::result::Result<usize, String> {
    match n {
        schema::SymInt::AsInt(n) => usize::try_from(*n).map_err(|_| format!("has {what} {n}")),
        schema::SymInt::AsExpr(e) => Err(format!("has symbolic {what} `{}`", e.expr_str)),
    }
}

impl Weight {
    /// Number of elements; `None` on overflow.
    pub fn len(&self) -> Option<usize> {
        self.sizes.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }

    /// Has it no elements?
    pub fn is_empty(&self) -> bool {
        self.sizes.contains(&0)
    }

    /// Do its elements lie in row-major order without gaps?
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1usize;
        self.is_empty()
            || self.sizes.iter().zip(&self.strides).rev().all(|(&size, &stride)| {
                let fits = size == 1 || stride == expected;
                expected = expected.saturating_mul(size);
                fits
            })
    }

    /// The tensor, row-major. Shares the file's bytes when it is contiguous already, else copies.
    ///
    /// # Errors
    /// A text without the weight's name: the element type has no dense form in coremill, or the tensor would
    /// become far larger than what the file holds.
    pub fn to_contiguous(&self) -> std::result::Result<Data, String> {
        let dtype = self
            .dtype
            .dtype()
            .ok_or_else(|| format!("{} has no dense form here; cast it before export", self.dtype))?;
        let size = self.dtype.size().unwrap_or(1);
        let too_large =
            || format!("its shape {:?} is too large for the {} bytes in the file", self.sizes, self.bytes.len());
        let len = self.len().and_then(|n| n.checked_mul(size)).ok_or_else(too_large)?;
        let bytes = if self.is_contiguous() {
            let start = if len == 0 { 0 } else { self.storage_offset.checked_mul(size).ok_or_else(too_large)? };
            let end = start.checked_add(len).filter(|&e| e <= self.bytes.len()).ok_or_else(too_large)?;
            self.bytes.slice(start..end)
        } else if len > ALWAYS_DENSE && len / MAX_REPEAT > self.bytes.len() {
            return Err(too_large());
        } else {
            self.gather(len, size).ok_or_else(too_large)?.into()
        };
        Data::new(dtype, &self.sizes, bytes).map_err(|e| e.to_string())
    }

    /// The elements one by one in row-major order.
    fn gather(&self, len: usize, size: usize) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(len);
        let mut index = vec![0usize; self.sizes.len()];
        let mut at = self.storage_offset;
        while out.len() < len {
            let start = at.checked_mul(size)?;
            out.extend_from_slice(self.bytes.get(start..start.checked_add(size)?)?);
            for d in (0..index.len()).rev() {
                index[d] += 1;
                at = at.checked_add(self.strides[d])?;
                if index[d] < self.sizes[d] {
                    break;
                }
                at = at.checked_sub(self.strides[d].checked_mul(self.sizes[d])?)?;
                index[d] = 0;
            }
        }
        Some(out)
    }

    /// Does the view lie inside its storage?
    fn check(&self) -> std::result::Result<(), String> {
        if self.sizes.len() != self.strides.len() {
            return Err(format!("has {} sizes and {} strides", self.sizes.len(), self.strides.len()));
        }
        if self.is_empty() {
            return Ok(());
        }
        let last = self
            .sizes
            .iter()
            .zip(&self.strides)
            .try_fold(self.storage_offset, |at, (&n, &s)| at.checked_add(n.checked_sub(1)?.checked_mul(s)?));
        let need = last.and_then(|l| l.checked_add(1)?.checked_mul(self.dtype.size()?));
        match need {
            Some(need) if need <= self.bytes.len() => Ok(()),
            Some(need) => Err(format!("needs {need} bytes of `{}`, which holds {}", self.entry, self.bytes.len())),
            None => Err(format!("its shape {:?} with strides {:?} overflows", self.sizes, self.strides)),
        }
    }
}
