//! What can be wrong with a `.pte`.

/// A `.pte` that cannot be read or written. Offsets are in bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
pub enum PteError {
    /// The file is too short for the part that should come next.
    #[error("the file ends at byte {len}, inside {what}; a .pte has at least {wanted} bytes there")]
    Truncated {
        /// Bytes in the file.
        len: u64,
        /// The part that is cut.
        what: &'static str,
        /// Bytes that are needed.
        wanted: u64,
    },
    /// The identifier is not that of ExecuTorch.
    #[error("bytes 4 to 7 are \"{}\", where a .pte has \"ET12\"; this is no ExecuTorch program", .found.escape_ascii())]
    NotAProgram {
        /// The four bytes.
        found: [u8; 4],
    },
    /// A number in the extended header points outside the file.
    #[error("extended header at byte {offset}: {problem}")]
    Header {
        /// Where the bad field is.
        offset: u64,
        /// What it says and what the file holds.
        problem: String,
    },
    /// The FlatBuffer is damaged.
    #[error("the program's FlatBuffer (bytes 0 to {end}) is damaged: {problem}")]
    Flatbuffer {
        /// Where the FlatBuffer ends.
        end: u64,
        /// The verifier's message.
        problem: String,
    },
    /// The FlatBuffer is sound but holds fields, variants or indices that make no sense.
    #[error("the program cannot be used as it is: {}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The file holds something that this version of coremill would lose.
    #[error("the program was written with a newer schema; coremill does not know {}; re-export it with ExecuTorch 1.5", .0.join(", "))]
    UnknownParts(Vec<String>),
    /// There is no such method.
    #[error("the program has no method '{wanted}'; it has {}", .known.join(", "))]
    NoSuchMethod {
        /// The name asked for.
        wanted: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// There is no such delegate.
    #[error("method '{method}' has {count} delegates, so there is no delegate {index}")]
    NoSuchDelegate {
        /// The method.
        method: String,
        /// The index asked for.
        index: usize,
        /// Delegates there are.
        count: usize,
    },
    /// There is no such named data.
    #[error("the program holds no named data '{key}'")]
    NoSuchNamedData {
        /// The name asked for.
        key: String,
    },
    /// A delegate's blob says that it refers to another, but not how.
    #[error(
        "the blob of delegate {index} of method '{method}' starts with CMJR but holds no model reference: {problem}"
    )]
    BadReference {
        /// The method.
        method: String,
        /// The delegate.
        index: usize,
        /// What is wrong.
        problem: String,
    },
    /// A method's description does not add up.
    #[error("method '{method}': {problem}")]
    BadMethod {
        /// The method.
        method: String,
        /// What is wrong.
        problem: String,
    },
    /// The program is too large for the format.
    #[error(
        "the program's FlatBuffer would hold {size} bytes, and the format ends at 2 GiB; put delegates into segments"
    )]
    TooLarge {
        /// Bytes of inline data.
        size: u64,
    },
    /// The writer failed.
    #[error("cannot write the program: {0}")]
    Io(#[from] std::io::Error),
}
