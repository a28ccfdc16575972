//! Lower, transform and write Core ML programs: the library's face.
