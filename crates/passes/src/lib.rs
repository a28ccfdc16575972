//! Graph passes, pipelines and the pass manager.
