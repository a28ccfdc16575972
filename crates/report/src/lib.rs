//! The record of a run as data, text and JSON.
