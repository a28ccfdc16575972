//! Planned memory for the tensors of a method that one delegate runs.
//!
//! The plan is that of ExecuTorch's greedy planner: largest tensor first, each into the first region whose tenants are
//! all dead when it lives, else into the first that has room behind those that are not, else into a region of its own;
//! the regions follow one another in a single buffer. Among tensors of equal size ExecuTorch's order is that of a
//! hash set; here it is the last one first.

use super::program::AllocationDetails;

/// Sizes are rounded up to a multiple of this many bytes.
const ALIGNMENT: u64 = 16;
/// Buffer 0 stands for constants, so the first planned one is 1.
const MEMORY_ID: u32 = 1;

/// A tensor to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenant {
    /// Its bytes.
    pub size: u64,
    /// First step at which its memory is in use.
    pub first: usize,
    /// Last step at which its memory is in use.
    pub last: usize,
}

/// A part of the buffer, as large as its first and largest tenant.
struct Region {
    size: u64,
    /// The tenants' numbers, places within the region, and lives.
    tenants: Vec<(usize, u64, Tenant)>,
}

impl Region {
    /// Where the tenants end that live at the same time as `tenant`; 0 when none does.
    fn occupied(&self, tenant: &Tenant) -> u64 {
        let alive =
            self.tenants.iter().filter(|(_, _, other)| other.first <= tenant.last && tenant.first <= other.last);
        alive.map(|(_, place, other)| place + other.size).max().unwrap_or(0)
    }
}

/// A place for each of `tenants`, and the bytes of the buffer; `None` when those do not fit 63 bits.
pub(super) fn plan(tenants: &[Tenant]) -> Option<(Vec<AllocationDetails>, i64)> {
    let mut order = Vec::with_capacity(tenants.len());
    let mut sum = 0u64;
    for (number, tenant) in tenants.iter().enumerate() {
        let size = tenant.size.checked_next_multiple_of(ALIGNMENT)?;
        // The sum bounds every place and size below.
        sum = sum.checked_add(size).filter(|sum| i64::try_from(*sum).is_ok())?;
        order.push((number, Tenant { size, ..*tenant }));
    }
    order.sort_by_key(|(number, tenant)| std::cmp::Reverse((tenant.size, *number)));
    let mut regions: Vec<Region> = Vec::new();
    for (number, tenant) in order {
        let occupied: Vec<u64> = regions.iter().map(|region| region.occupied(&tenant)).collect();
        let has_room = |(region, end): (&Region, &u64)| end + tenant.size <= region.size;
        let free = occupied.iter().position(|end| *end == 0);
        match free.or_else(|| regions.iter().zip(&occupied).position(has_room)) {
            Some(at) => {
                let place = occupied.get(at).copied().unwrap_or(0);
                regions.get_mut(at)?.tenants.push((number, place, tenant));
            }
            None => regions.push(Region { size: tenant.size, tenants: vec![(number, 0, tenant)] }),
        }
    }
    let mut places = vec![AllocationDetails::default(); tenants.len()];
    let mut start = 0u64;
    for region in &regions {
        for (number, place, _) in &region.tenants {
            *places.get_mut(*number)? = AllocationDetails { memory_id: MEMORY_ID, memory_offset: start + place };
        }
        start += region.size;
    }
    Some((places, i64::try_from(start).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(tenants: &[(u64, usize, usize)]) -> (Vec<u64>, i64) {
        let tenants: Vec<Tenant> = tenants.iter().map(|&(size, first, last)| Tenant { size, first, last }).collect();
        let (places, total) = plan(&tenants).expect("small");
        (places.iter().map(|place| place.memory_offset).collect(), total)
    }

    /// ExecuTorch 1.5.1's plan for `f(u, x, v)` that uses only `x` and returns two tensors.
    #[test]
    fn unused_inputs_lend_their_memory_to_outputs() {
        let planned = offsets(&[(256, 0, 0), (64, 0, 3), (16, 0, 2), (64, 3, 4), (16, 3, 4)]);
        // The peer has the two of 64 bytes in the other order of a tie, with the same total.
        assert_eq!(planned, (vec![0, 256, 320, 0, 64], 336));
    }

    #[test]
    fn sizes_beyond_63_bits_are_refused() {
        let half = Tenant { size: 1 << 62, first: 0, last: 0 };
        assert!(plan(&[half]).is_some());
        assert!(plan(&[half, half]).is_none());
        assert!(plan(&[Tenant { size: u64::MAX, first: 0, last: 0 }]).is_none());
        assert_eq!(offsets(&[]), (vec![], 0));
    }
}
