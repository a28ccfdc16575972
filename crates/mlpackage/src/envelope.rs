//! The outermost message of a model file.
//!
//! Only a handful of its fields matter here; the rest, whatever they are, are kept as they stand.

use bytes::{Bytes, BytesMut};

use crate::wire::{self, Field};
use crate::{Content, Error, ErrorKind, Place};

const SPECIFICATION_VERSION: u32 = 1;
const DESCRIPTION: u32 = 2;
const IS_UPDATABLE: u32 = 10;
const ML_PROGRAM: u32 = 502;

/// The other kinds of models, by field number.
const OTHER_KINDS: &[(u32, &str)] = &[
    (200, "pipelineClassifier"),
    (201, "pipelineRegressor"),
    (202, "pipeline"),
    (300, "glmRegressor"),
    (301, "supportVectorRegressor"),
    (302, "treeEnsembleRegressor"),
    (303, "neuralNetworkRegressor"),
    (304, "bayesianProbitRegressor"),
    (400, "glmClassifier"),
    (401, "supportVectorClassifier"),
    (402, "treeEnsembleClassifier"),
    (403, "neuralNetworkClassifier"),
    (404, "kNearestNeighborsClassifier"),
    (500, "neuralNetwork"),
    (501, "itemSimilarityRecommender"),
    (555, "customModel"),
    (556, "linkedModel"),
    (560, "classConfidenceThresholding"),
    (600, "oneHotEncoder"),
    (601, "imputer"),
    (602, "featureVectorizer"),
    (603, "dictVectorizer"),
    (604, "scaler"),
    (606, "categoricalMapping"),
    (607, "normalizer"),
    (609, "arrayFeatureExtractor"),
    (610, "nonMaximumSuppression"),
    (900, "identity"),
    (2000, "textClassifier"),
    (2001, "wordTagger"),
    (2002, "visionFeaturePrint"),
    (2003, "soundAnalysisPreprocessing"),
    (2004, "gazetteer"),
    (2005, "wordEmbedding"),
    (2006, "audioFeaturePrint"),
    (3000, "serializedModel"),
];

/// A model file, its program and description still encoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    pub(crate) specification_version: i32,
    pub(crate) is_updatable: bool,
    pub(crate) description: Option<Bytes>,
    pub(crate) program: Bytes,
    /// Fields that are none of the above, as they stand.
    pub(crate) others: Bytes,
}

/// The bytes of a message field that may come in several parts: protobuf merges them by appending.
fn join(mut parts: Vec<Bytes>) -> Option<Bytes> {
    if parts.len() > 1 {
        return Some(parts.concat().into());
    }
    parts.pop()
}

impl Envelope {
    pub(crate) fn read(file: &str, bytes: &Bytes) -> Result<Envelope, Error> {
        let fields = wire::fields(bytes)
            .map_err(|e| Error::at(file, Place::Offset(e.offset as u64), ErrorKind::Protobuf(e.what.to_owned())))?;
        let mut out = Envelope::default();
        let (mut programs, mut descriptions, mut kind) = (Vec::new(), Vec::new(), None);
        let mut others = BytesMut::new();
        for field in &fields {
            let Field { number, .. } = field;
            match (*number, field.varint(), field.bytes()) {
                // A 32-bit number is written sign-extended; the low half is the number.
                (SPECIFICATION_VERSION, Some(v), _) => out.specification_version = v as i32,
                (IS_UPDATABLE, Some(v), _) => out.is_updatable = v != 0,
                (DESCRIPTION, _, Some(b)) => descriptions.push(b.clone()),
                (ML_PROGRAM, _, Some(b)) => programs.push(b.clone()),
                _ => {
                    kind = kind.or(OTHER_KINDS.iter().find(|k| k.0 == *number).map(|k| k.1));
                    others.extend_from_slice(&field.raw);
                }
            }
        }
        let Some(program) = join(programs) else {
            let kind = match kind {
                Some(kind) => ErrorKind::NotAnMlProgram(kind.to_owned()),
                None => {
                    ErrorKind::Malformed("the file holds no model of any kind; is it really an .mlmodel?".to_owned())
                }
            };
            return Err(Error::new(file, kind));
        };
        out.program = program;
        out.description = join(descriptions);
        out.others = others.freeze();
        Ok(out)
    }

    pub(crate) fn write(&self) -> Content {
        let mut head = BytesMut::new();
        // Sign-extended, as protobuf does with negative numbers.
        wire::put_varint(&mut head, SPECIFICATION_VERSION, i64::from(self.specification_version) as u64);
        if let Some(d) = &self.description {
            wire::put_bytes(&mut head, DESCRIPTION, d);
        }
        if self.is_updatable {
            wire::put_varint(&mut head, IS_UPDATABLE, 1);
        }
        wire::put_header(&mut head, ML_PROGRAM, self.program.len());
        let mut out = Content::from(head.freeze());
        out.push(self.program.clone());
        out.push(self.others.clone());
        out
    }
}
