//! The instruments that flags ask for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coremill::{Note, Session};
use coremill_mil::Program;
use coremill_mil::text::{PrintOptions, print};
use coremill_passes::find_pass;
use coremill_report::{Dump, DumpEvent, DumpWhen, Recorder, RunReport};

use crate::args::{EditArgs, WatchArgs};
use crate::bisect_lines::BisectLines;
use crate::progress::Progress;
use crate::{Failure, output};

/// Runs a job in a session that is watched as the flags ask, and shows what they ask for.
///
/// The report is written when the job fails, too: it is the record of how far it came.
pub(crate) fn watched<T>(
    args: &WatchArgs,
    edits: &EditArgs,
    job: impl FnOnce(&mut Session<'_>) -> Result<T, coremill::Error>,
) -> Result<T, Failure> {
    check_ids(&args.print_after)?;
    let start = Instant::now();
    let clock = move || -> Duration { start.elapsed() };
    let mut recorder = Recorder::new(Some(&clock));
    let mut progress = Progress::new();
    let render = |p: &Program| print(p, &PrintOptions::brief());
    let mut say = |event: DumpEvent<'_>| output::say(&titled(&event));
    let mut printed = printed_when(args).map(|when| Dump::new(when, &render, &mut say));
    let mut dumps = DumpDir::new(args.dump_dir.as_deref());
    let mut to_folder = |event: DumpEvent<'_>| dumps.write(&event);
    let mut dumped = args.dump_dir.is_some().then(|| Dump::new(DumpWhen::BeforeAndAfter, &render, &mut to_folder));
    let mut lines = edits.limits().map(|_| BisectLines::default());
    let mut notes = |note: Note| output::note(&note);

    let mut session = Session::new().instrument(&mut recorder).notes(&mut notes);
    session = session.verify_each(args.verify_each);
    if let Some(limits) = edits.limits() {
        session = session.limits(limits);
    }
    // A bar and lines on one terminal get into each other's way.
    session = match &mut lines {
        Some(lines) => session.instrument(lines),
        None => session.instrument(&mut progress),
    };
    if let Some(dump) = &mut printed {
        session = session.instrument(dump);
    }
    if let Some(dump) = &mut dumped {
        session = session.instrument(dump);
    }
    let result = job(&mut session);
    drop(session);
    drop(dumped);
    let report = recorder.finish();
    // The summary has what passes have to say at their steps.
    if args.print_summary {
        output::say(&report.changes());
    } else {
        tell_pass_notes(&report);
    }
    if args.time_passes {
        output::say(&report.times());
    }
    if let Some(path) = &args.report {
        output::file(path, &report.to_json())?;
    }
    let value = result?;
    dumps.finish()?;
    Ok(value)
}

/// What passes have to say, each sentence once.
fn tell_pass_notes(report: &RunReport) {
    let mut told = BTreeSet::new();
    for step in report.pipelines.iter().flat_map(|p| &p.steps) {
        for note in step.notes.iter().filter(|n| told.insert((step.pass.as_str(), n.as_str()))) {
            output::say(&format!("note: {}: {note}", step.pass));
        }
    }
}

fn check_ids(ids: &[String]) -> Result<(), Failure> {
    match ids.iter().find(|id| find_pass(id).is_none()) {
        Some(id) => Err(Failure::Usage(format!(
            "--print-after: there is no pass `{id}`; `coremill passes` lists those there are"
        ))),
        None => Ok(()),
    }
}

fn printed_when(args: &WatchArgs) -> Option<DumpWhen> {
    if args.print_after_all {
        Some(DumpWhen::AfterAll)
    } else if args.print_changed {
        Some(DumpWhen::Changed)
    } else if args.print_after.is_empty() {
        None
    } else {
        Some(DumpWhen::After(args.print_after.iter().cloned().collect::<BTreeSet<_>>()))
    }
}

fn titled(event: &DumpEvent<'_>) -> String {
    let when = if event.before { "before" } else { "after" };
    format!("// {when} {} (step {} of {})\n{}", event.pass, event.step, event.pipeline, event.text)
}

/// A folder of dumps. The first failure is kept and told at the end: an instrument cannot stop a run.
struct DumpDir {
    dir: PathBuf,
    failure: Option<String>,
}

impl DumpDir {
    fn new(dir: Option<&Path>) -> DumpDir {
        DumpDir { dir: dir.map(Path::to_path_buf).unwrap_or_default(), failure: None }
    }

    fn write(&mut self, event: &DumpEvent<'_>) {
        if self.failure.is_some() {
            return;
        }
        let when = if event.before { "before" } else { "after" };
        let pass = event.pass.replace("::", "-");
        let path = self.dir.join(format!("{:03}-{pass}.{when}.mil", event.serial));
        let written = fs::create_dir_all(&self.dir).and_then(|()| fs::write(&path, format!("{}\n", titled(event))));
        self.failure = written.err().map(|e| format!("{}: {e}", path.display()));
    }

    fn finish(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), |message| Err(Failure::Failed(message)))
    }
}
