//! Planned memory for the tensors of a method that one delegate runs.
//!
//! ExecuTorch's greedy planner gives such tensors, which all live at the time of the call, places one after the other
//! in a single buffer, largest first. Between tensors of equal size its order is that of a hash set; here it is the
//! last one first. This planner does no sharing, because nothing in such a method ends before the call.

use super::program::AllocationDetails;

/// Places start at multiples of this many bytes.
const ALIGNMENT: u64 = 16;
/// Buffer 0 stands for constants, so the first planned one is 1.
const MEMORY_ID: u32 = 1;

/// A place for each tensor of `sizes` bytes, and the size of the buffer; `None` when that does not fit 64 bits.
pub(super) fn plan(sizes: &[u64]) -> Option<(Vec<AllocationDetails>, u64)> {
    let mut order: Vec<(u64, usize)> = Vec::with_capacity(sizes.len());
    for (index, size) in sizes.iter().enumerate() {
        order.push((size.checked_next_multiple_of(ALIGNMENT)?, index));
    }
    order.sort_unstable_by_key(|place| std::cmp::Reverse(*place));
    let mut places = vec![AllocationDetails::default(); sizes.len()];
    let mut end = 0u64;
    for (size, index) in order {
        if let Some(place) = places.get_mut(index) {
            *place = AllocationDetails { memory_id: MEMORY_ID, memory_offset: end };
        }
        end = end.checked_add(size)?;
    }
    Some((places, end))
}
