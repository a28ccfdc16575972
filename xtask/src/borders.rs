//! Which crate may depend on which.

use std::path::Path;
use std::process::Command;

/// Each crate with the crates of this workspace that it may depend on. A crate that is not listed may depend on none.
const ALLOWED: &[(&str, &[&str])] = &[
    ("coremill-tensor", &[]),
    ("coremill-mil", &["coremill-tensor"]),
    ("coremill-interp", &["coremill-mil", "coremill-tensor"]),
    ("coremill-passes", &["coremill-interp", "coremill-mil", "coremill-tensor"]),
    ("coremill-mlpackage", &["coremill-mil", "coremill-tensor"]),
    ("coremill-torch-export", &["coremill-mil", "coremill-tensor"]),
    ("coremill-executorch", &[]),
    ("coremill-report", &["coremill-mil", "coremill-passes"]),
    (
        "coremill",
        &[
            "coremill-executorch",
            "coremill-interp",
            "coremill-mil",
            "coremill-mlpackage",
            "coremill-passes",
            "coremill-report",
            "coremill-tensor",
            "coremill-torch-export",
        ],
    ),
    ("coremill-cli", &["coremill", "coremill-mil", "coremill-passes", "coremill-report"]),
    ("xtask", &[]),
];

/// Every dependency that crosses a border. Dependencies of tests are free.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output();
    let metadata: serde_json::Value = match out.map(|o| serde_json::from_slice(&o.stdout)) {
        Ok(Ok(v)) => v,
        Ok(Err(e)) => return vec![format!("cargo metadata gave no JSON: {e}")],
        Err(e) => return vec![format!("cargo metadata did not run: {e}")],
    };
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let mut findings = Vec::new();
    for package in &packages {
        let name = package["name"].as_str().unwrap_or_default();
        let allowed = ALLOWED.iter().find(|(n, _)| *n == name).map(|(_, a)| *a);
        if allowed.is_none() {
            findings.push(format!("crate `{name}` is not in xtask's list of borders"));
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev");
            if names.contains(&target) && !for_tests && !allowed.unwrap_or_default().contains(&target) {
                findings.push(format!("`{name}` may not depend on `{target}`"));
            }
        }
    }
    findings
}
