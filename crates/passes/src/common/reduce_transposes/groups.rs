//! Which transposes stand and fall together, and which of them go.

use coremill_mil::ValueId;

use crate::pass::PassContext;

/// The transposes that turned values begin at, in program order, in groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    tallies: Vec<Tally>,
    /// Those that meet in an op which works in either layout: one cannot go without the other.
    bound: Sets,
    /// Those that meet in any op.
    meeting: Sets,
}

/// What hangs on a transpose, or on a group of them.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// The order of axes, as a value of the block; of a single one only.
    perm: Option<ValueId>,
    /// Transposes that turned values begin at.
    begin: usize,
    /// Transposes that cancel.
    cancel: usize,
    /// Turned values that something needs as they are.
    needed: usize,
    /// Those of them that are results of the very transposes that turned values begin at.
    needed_at_once: usize,
    /// Ops, outputs and uses in nested blocks that need turned values.
    takers: usize,
}

impl Groups {
    /// A group of a transpose of its own.
    pub(super) fn begin(&mut self, perm: ValueId) -> usize {
        self.tallies.push(Tally { perm: Some(perm), begin: 1, ..Tally::default() });
        self.bound.add();
        self.meeting.add()
    }

    /// The order of axes of the transpose that the group began with.
    pub(super) fn perm(&self, group: usize) -> Option<ValueId> {
        self.tallies[group].perm
    }

    /// The two groups are one from here on.
    pub(super) fn bind(&mut self, a: usize, b: usize) {
        self.bound.unite(a, b);
        self.meeting.unite(a, b);
    }

    /// A transpose cancels.
    pub(super) fn cancel(&mut self, group: usize) {
        self.tallies[group].cancel += 1;
    }

    /// Something needs a turned value as it is; `at_once` when that is the result of the group's own transpose.
    pub(super) fn need(&mut self, group: usize, at_once: bool) {
        self.tallies[group].needed += 1;
        self.tallies[group].needed_at_once += usize::from(at_once);
    }

    /// One taker needs turned values of these groups.
    pub(super) fn take(&mut self, groups: &[usize]) {
        if let Some(&first) = groups.first() {
            self.tallies[first].takers += 1;
            groups.iter().for_each(|&g| self.meeting.unite(first, g));
        }
    }

    /// For each transpose that turned values begin at, whether its group goes.
    pub(super) fn choose(&mut self, cx: &mut PassContext) -> Vec<bool> {
        let bound = sums(&self.tallies, &mut self.bound);
        let meeting = sums(&self.tallies, &mut self.meeting);
        let mut chosen = vec![false; self.tallies.len()];
        for group in 0..self.tallies.len() {
            let root = self.bound.root(group);
            if root == group && goes(&bound[root], &meeting[self.meeting.root(group)]) && !cx.is_exhausted() {
                chosen[root] = true;
                cx.rewrites += 1;
            }
            // The root of a set is its first member.
            chosen[group] = chosen[root];
        }
        chosen
    }
}

fn goes(group: &Tally, meeting: &Tally) -> bool {
    let gone = group.begin + group.cancel;
    let is_dead = group.cancel == 0 && group.needed == 0;
    // All stay right where they are.
    let is_settled = group.cancel == 0 && group.needed_at_once == group.begin;
    let is_met = meeting.takers < meeting.begin + meeting.cancel;
    !is_dead && (group.needed < gone || group.needed == gone && is_met && !is_settled)
}

fn sums(tallies: &[Tally], sets: &mut Sets) -> Vec<Tally> {
    let mut out = vec![Tally::default(); tallies.len()];
    for (i, t) in tallies.iter().enumerate() {
        let sum = &mut out[sets.root(i)];
        sum.begin += t.begin;
        sum.cancel += t.cancel;
        sum.needed += t.needed;
        sum.needed_at_once += t.needed_at_once;
        sum.takers += t.takers;
    }
    out
}

/// Disjoint sets of numbers; the root of a set is its least member.
#[derive(Debug, Default)]
struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    fn add(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parents[at] != at {
            // Halve the path on the way, which keeps all of them short.
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }
}
